from django.db import migrations, models


def name_golds(apps, schema_editor):
    """Let a near-duplicate be one under each gold that it was scored with."""
    rows = apps.get_model("evaluation", "NearDuplicate").objects
    for near in list(rows.filter(gold_sha256="")):
        evaluations = near.submission.evaluations.filter(setting=near.setting)
        golds = set(evaluations.values_list("gold_sha256", flat=True))
        values = {"submission": near.submission, "setting": near.setting, "earlier": near.earlier}
        for sha256 in golds:
            rows.create(gold_sha256=sha256, claims=near.claims, **values)
        near.delete()


class Migration(migrations.Migration):

    dependencies = [
        ('evaluation', '0007_stored_boards'),
    ]

    operations = [
        migrations.AddField(
            model_name='nearduplicate',
            name='gold_sha256',
            field=models.CharField(default='', max_length=64),
            preserve_default=False,
        ),
        migrations.RemoveConstraint(
            model_name='nearduplicate',
            name='near_to_one_run_per_setting',
        ),
        migrations.AddConstraint(
            model_name='nearduplicate',
            constraint=models.UniqueConstraint(fields=('submission', 'setting', 'gold_sha256'), name='near_to_one_run_per_gold'),
        ),
        migrations.RunPython(name_golds, migrations.RunPython.noop),
    ]
