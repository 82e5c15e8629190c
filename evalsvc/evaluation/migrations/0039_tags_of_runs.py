from django.db import migrations, models
from django.db.models import OuterRef, Subquery


def copy_tags(apps, editor):
    """Give each run the tags of its system, which boards show so far."""
    systems = apps.get_model("evaluation", "System").objects.exclude(tags={})
    runs = apps.get_model("evaluation", "Submission").objects.filter(system__in=systems)
    runs.update(tags=Subquery(systems.filter(pk=OuterRef("system")).values("tags")[:1]))


class Migration(migrations.Migration):

    dependencies = [
        ('evaluation', '0038_open_until'),
    ]

    operations = [
        migrations.AlterField(
            model_name='system',
            name='tags',
            field=models.JSONField(default=dict, help_text='Of earlier versions; runs have tags of their own.'),
        ),
        migrations.AddField(
            model_name='submission',
            name='tags',
            field=models.JSONField(default=dict, help_text='What the team declares with the run: pre-trained, extra data …'),
        ),
        migrations.RunPython(copy_tags, migrations.RunPython.noop),
    ]
