"""Whose figures were known when runs were withdrawn; so far by the seals and dates that settings have now."""

from collections import defaultdict

from django.db import migrations, models


def was_sealed(setting, at):
    dates = [each for each in (setting.closes_at, setting.closes_at and setting.open_until) if each]
    return setting.sealed and (not dates or at < max(dates))


def note_known(apps, schema_editor):
    Setting, Submission = (apps.get_model('evaluation', name) for name in ('Setting', 'Submission'))
    withdrawn, settings = Submission.objects.filter(withdrawn_at__isnull=False), Setting.objects.in_bulk()
    links = Submission.evaluations.through.objects.filter(submission__system__in=withdrawn.values('system'))
    names = ('system_id', 'run', 'created_at', 'scored_at')
    columns = ('submission_id', 'evaluation__setting_id', *(f'submission__{name}' for name in names))
    scored = defaultdict(list)
    for pk, setting, system, run, *times in links.values_list(*columns):
        scored[system, run].append((pk, setting, *times))
    for run in withdrawn:
        of_name, at = scored[run.system_id, run.run], run.withdrawn_at
        own = {setting for pk, setting, *_ in of_name if pk == run.pk}
        known = own if run.scored_at and run.scored_at < at else set()
        known = known | {setting for pk, setting, sent, _ in of_name if sent < at and pk != run.pk} - own
        run.known_under = sorted(pk for pk in known if not was_sealed(settings[pk], at))
        run.save(update_fields=['known_under'])


class Migration(migrations.Migration):

    dependencies = [
        ('evaluation', '0040_one_hit_of_the_rarest_class'),
    ]

    operations = [
        migrations.AddField(
            model_name='setting',
            name='sealed_since',
            field=models.DateTimeField(help_text='Its scores were shown until then; null: never before it is unsealed.', null=True),
        ),
        migrations.AddField(
            model_name='submission',
            name='known_under',
            field=models.JSONField(default=list, help_text='Settings under which its team knew figures of it when it was withdrawn.'),
        ),
        migrations.RunPython(note_known, migrations.RunPython.noop),
    ]
