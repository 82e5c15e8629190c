from django.db import migrations


def forget_unordered(apps, schema_editor):
    """Delete claims of scores: earlier builds sorted them by code, and they are read as rankings.

    The next scoring of a run of the team stores them anew.
    """
    claims = apps.get_model("evaluation", "EvaluationClaims").objects
    claims.filter(evaluation__options__form__in=("scores", "bag")).delete()


class Migration(migrations.Migration):

    dependencies = [
        ('evaluation', '0009_outdated_boards'),
    ]

    operations = [
        migrations.RunPython(forget_unordered, migrations.RunPython.noop),
    ]
