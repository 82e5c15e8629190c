"""Whose figures were known when runs were withdrawn, or before a seal, by what the log has of settings."""

from collections import defaultdict
from datetime import UTC, datetime
from itertools import pairwise

from django.db import migrations
from django.utils import timezone

NAMES = ('sealed', 'closes_at', 'disclosure')
FIRST, NEVER = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)


class State:
    """What a setting showed from a time on."""

    def __init__(self, since, values):
        self.since = since
        self.sealed, self.closes_at, self.disclosure = (values[name] for name in NAMES)

    def is_open(self, at):
        return at < (self.closes_at or NEVER)

    def is_sealed(self, at):
        return self.sealed and self.is_open(at)


def states_of(setting, entries):
    """Return the states of a setting, oldest first: from today's backwards, by what each change replaced."""
    values = {name: getattr(setting, name) for name in NAMES}
    if setting.closes_at and setting.open_until:  # the date was moved to the past then
        values['closes_at'] = max(setting.closes_at, setting.open_until)
    names = NAMES[1:] if setting.rest_of_id else NAMES  # the rest follows its split in all but the seal
    states = []
    for entry in entries:
        states.insert(0, State(entry.at, values))
        values = values | {name: entry.before[name] for name in names if name in entry.before}
        if isinstance(values['closes_at'], str):
            values['closes_at'] = datetime.fromisoformat(values['closes_at'])
    return [State(FIRST, values), *states]


def read_states(apps):
    entries = defaultdict(list)
    log = apps.get_model('activity', 'LogEntry').objects.filter(area='benchmark', action='setting', before__isnull=False)
    for entry in log.order_by('-pk'):
        entries[entry.subject, entry.about].append(entry)
    settings = apps.get_model('evaluation', 'Setting').objects.select_related('rest_of')
    return {each: states_of(each, entries[each.benchmark_id, (each.rest_of or each).key]) for each in settings}


def shown_until(states, at):
    """Return until when, by a time, it showed figures: until it was sealed; None if it never did."""
    past = [each for each in states if each.since <= at]
    if not past[-1].is_sealed(at):
        return at
    changes = [(before, after, after.since) for before, after in pairwise(past)]
    return max((at for before, after, at in changes if after.is_sealed(at) and not before.is_sealed(at)), default=None)


def is_hidden(states, at):
    state = [each for each in states if each.since <= at][-1]
    return state.disclosure == 'hidden' and state.is_open(at)


def note_seals(states):
    now = timezone.now()
    for setting, of_setting in states.items():
        if setting.sealed_since is None and of_setting[-1].is_sealed(now):
            setting.sealed_since = shown_until(of_setting, now)
            setting.save(update_fields=['sealed_since'])


def telling_nothing(apps, runs, settings):
    """Return run, setting, gold and limiting set where a run showed no figures, or those of its own system."""
    rows = apps.get_model('evaluation', 'NearDuplicate').objects.filter(submission__in=runs)
    names = ('submission_id', 'setting_id', 'gold_sha256', 'only_sha256')
    columns = ('earlier_id', 'submission__system_id', 'earlier__system_id')
    return {
        tuple(key)
        for *key, earlier, own, other in rows.values_list(*names, *columns)
        if earlier is None or (own == other and key[1] in settings[earlier])
    }


def note_known(apps, schema_editor):
    Submission = apps.get_model('evaluation', 'Submission')
    states = read_states(apps)
    note_seals(states)
    by_key = {setting.pk: of_setting for setting, of_setting in states.items()}
    withdrawn = Submission.objects.filter(withdrawn_at__isnull=False)
    runs = Submission.objects.filter(system__in=withdrawn.values('system'))
    links = Submission.evaluations.through.objects.filter(submission__in=runs)
    names = ('setting_id', 'gold_sha256', 'options', 'created_at')
    columns = ('system_id', 'run', 'scored_at')
    paths = (*(f'submission__{name}' for name in columns), 'submission_id', *(f'evaluation__{name}' for name in names))
    scored, settings = defaultdict(list), defaultdict(set)
    for system, name, scored_at, pk, setting, gold, options, at in links.exclude(submission__scored_at=None).values_list(*paths):
        scored[system, name].append(((pk, setting, gold, options.get('only') or ''), max(scored_at, at)))
        settings[pk].add(setting)
    nothing = telling_nothing(apps, runs, settings)
    for run in withdrawn:
        at, known = run.withdrawn_at, set()
        for key, since in scored[run.system_id, run.run]:
            pk, setting, *_ = key
            of_setting = by_key[setting]
            own = pk == run.pk or setting not in settings[run.pk]
            tells = key not in nothing or not is_hidden(of_setting, at)
            if own and tells and since < (shown_until(of_setting, at) or FIRST):
                known.add(setting)
        run.known_under = sorted(known)
        run.save(update_fields=['known_under'])


class Migration(migrations.Migration):

    dependencies = [
        ('activity', '0002_names_of_records'),
        ('evaluation', '0041_figures_known'),
    ]

    operations = [
        migrations.RunPython(note_known, migrations.RunPython.noop, elidable=True),
    ]
