from django.db import migrations


def name_training_sets(apps, schema_editor):
    """Name the set in which counts were taken, where it has exactly these."""
    Benchmark = apps.get_model('evaluation', 'Benchmark')
    Companion = apps.get_model('annotation', 'Companion')
    for benchmark in Benchmark.objects.exclude(training_counts={}):
        beside = Companion.objects.filter(test_set__settings__benchmark=benchmark, role='training')
        for data in (each.data for each in beside.exclude(data__statistics=None).select_related('data')):
            counts = data.statistics.get('relation_labels', {}) | data.statistics['labels']
            if benchmark.training_counts == {label['name']: counts.get(label['name'], 0) for label in benchmark.labels}:
                benchmark.training_set = data
                benchmark.save(update_fields=['training_set'])


class Migration(migrations.Migration):

    dependencies = [
        ('evaluation', '0036_training_set'),
    ]

    operations = [
        migrations.RunPython(name_training_sets, migrations.RunPython.noop, elidable=True),
    ]
