"""Forget figures of near-duplicates that organisers withdrew after the end of a phase that stayed hidden.

They showed those of another run of their system, for as long as another setting hides the gold.
"""

from django.db import migrations
from django.db.models import F


def forget(apps, schema_editor):
    Submission = apps.get_model('evaluation', 'Submission')
    Setting = apps.get_model('evaluation', 'Setting')
    ended = dict(Setting.objects.filter(disclosure='hidden').exclude(closes_at=None).values_list('pk', 'closes_at'))
    near = apps.get_model('evaluation', 'NearDuplicate').objects.filter(earlier__system=F('submission__system'))
    for run in Submission.objects.filter(withdrawn_at__isnull=False).exclude(known_under=[]):
        golds = run.evaluations.values_list('setting', 'gold_sha256')
        copied = set(near.filter(submission=run).values_list('setting', 'gold_sha256'))
        own = {setting for setting, gold in golds if (setting, gold) not in copied}
        kept = [pk for pk in run.known_under if pk in own or pk not in ended or run.withdrawn_at < ended[pk]]
        if kept != run.known_under:
            run.known_under = kept
            run.save(update_fields=['known_under'])


class Migration(migrations.Migration):

    dependencies = [
        ('evaluation', '0042_figures_known_by_the_log'),
    ]

    operations = [
        migrations.RunPython(forget, migrations.RunPython.noop, elidable=True),
    ]
