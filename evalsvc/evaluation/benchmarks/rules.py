"""Rules of a benchmark that no score depends on: quotas, limits, texts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from evalsvc.core.accounts.models import Team, User
from evalsvc.core.activity.models import record
from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.web.formatting import counted, listed, quoted
from evalsvc.evaluation.benchmarks.file_contract import LIMITS
from evalsvc.evaluation.benchmarks.quotas import PHASE_QUOTAS, QUOTAS, checked_zone
from evalsvc.evaluation.benchmarks.training_counts import rules_from
from evalsvc.evaluation.models import Benchmark, Setting, System
from evalsvc.evaluation.roles import ORGANISER, require

TEAMS_NAMED = 5
TEXTS = ("title", "summary", "description", "public")


def checked_rules(rules: dict[str, Any], *, labels: list[dict[str, str]]) -> dict[str, Any]:
    """Return the rules, or reject the first invalid one."""
    for name, value in rules.items():
        if name in QUOTAS:
            _check_number(name, value)
        elif name == "phase_quotas":
            _check_phase_quotas(value)
        elif name == "default_quotas":
            if not isinstance(value, bool):
                raise DomainError("bad_choice", f"{name} is {value!r}. Use true or false.", field=name)
        elif name == "time_zone":
            rules[name] = checked_zone(value)
        elif name == "limits":
            _check_limits(value)
        elif name == "training_counts":
            _check_counts(value, labels)
        elif name != "training_set":
            raise TypeError(f"{name} is not a rule of a benchmark.")
    return rules


def _check_number(name: str, value: Any) -> None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if value is not None and not (whole and 0 < value < 1 << 31):
        raise DomainError("bad_limit", f"{name} is {value!r}. Use a whole number above 0.", field=name)


def _check_limits(limits: Mapping[str, Any]) -> None:
    for limit, most in limits.items():
        if limit not in LIMITS:
            detail, hint = f"There is no limit {limit}.", f"Use {', '.join(LIMITS)}."
            raise DomainError("bad_limit", detail, hint=hint, field="limits")
        _check_number(limit, most)


def _check_phase_quotas(quotas: Mapping[str, Mapping[str, Any]]) -> None:
    for phase, of_phase in quotas.items():
        if phase not in Setting.Phase.values:
            detail, hint = f"There is no phase {phase}.", f"Use {' or '.join(Setting.Phase.values)}."
            raise DomainError("bad_choice", detail, hint=hint, field="phase_quotas")
        for name, most in of_phase.items():
            if name not in PHASE_QUOTAS:
                detail, hint = f"A phase has no quota {name}.", f"Use {' or '.join(PHASE_QUOTAS)}."
                raise DomainError("bad_limit", detail, hint=hint, field="phase_quotas")
            if most is None:
                hint = "Leave it out for none."
                raise DomainError("bad_limit", f"{name} is null.", hint=hint, field="phase_quotas")
            _check_number(name, most)


def _check_counts(counts: dict[str, Any], labels: list[dict[str, str]]) -> None:
    known = {label["name"] for label in labels}
    for name, value in counts.items():
        if name not in known:
            raise DomainError(
                "unknown_label", f"{name} is not a label of this benchmark.", field="training_counts"
            )
        if value != 0:
            _check_number(name, value)


def name_baselines(benchmark: Benchmark, systems: Collection[System], *, by: User) -> None:
    """Mark these systems as baselines on the board, and no others."""
    require(benchmark, by, ORGANISER)
    chosen = [system.pk for system in systems]
    with transaction.atomic():
        before = _baseline_names(benchmark)
        benchmark.systems.filter(baseline=True).exclude(pk__in=chosen).update(baseline=False)
        benchmark.systems.filter(baseline=False, pk__in=chosen).update(baseline=True)
        record(benchmark, "baselines", by=by, before=before, after=_baseline_names(benchmark))


def _baseline_names(benchmark: Benchmark) -> list[str]:
    return list(benchmark.systems.filter(baseline=True).order_by("name", "pk").values_list("name", flat=True))


def named_systems(benchmark: Benchmark, names: Iterable[Mapping[str, str]]) -> list[System]:
    """Return the systems with these names of teams and systems."""
    known = {(system.team.slug, system.name): system for system in benchmark.systems.select_related("team")}
    systems = []
    for name in names:
        system = known.get((name["team"], name["system"]))
        if system is None:
            detail = f"{benchmark} has no system {name['system']} of team {name['team']}."
            hint = "Use the slug of the team and the name of the system on the board."
            raise DomainError("unknown_system", detail, hint=hint, field="baselines")
        systems.append(system)
    return systems


def change(benchmark: Benchmark, *, by: User, **rules: Any) -> Benchmark:
    """Change texts, quotas, limits and baselines; `training_set` names the set to count labels in."""
    require(benchmark, by, ORGANISER)
    if slug := rules.pop("training_set", ""):
        rules |= rules_from(benchmark, slug)
    elif "training_counts" in rules:
        rules["training_set"] = None
    baselines = rules.pop("baselines", None)
    systems = None if baselines is None else named_systems(benchmark, baselines)
    texts = {name: rules.pop(name) for name in TEXTS if name in rules}
    with transaction.atomic():
        row = Benchmark.objects.select_for_update().get(pk=benchmark.pk)
        changed = texts | checked_rules(rules, labels=row.labels)
        _log(row, changed, by)
        Benchmark.objects.filter(pk=row.pk).update(**changed)
        if systems is not None:
            name_baselines(row, systems, by=by)
    benchmark.refresh_from_db()
    return benchmark


def _log(benchmark: Benchmark, changed: Mapping[str, Any], by: User) -> None:
    """Log the values that differ; of a description, only that it does, and counts of a set by its slug."""
    before = {name: getattr(benchmark, name) for name in changed if getattr(benchmark, name) != changed[name]}
    after = {name: changed[name] for name in before}
    for values in (before, after):
        if test_set := values.pop("training_set", None):
            values["training_counts"] = test_set.slug
    if "description" in before:
        before["description"], after["description"] = "earlier text", "new text"
    record(benchmark, "rules", by=by, before=before, after=after)


# ---- who sees a benchmark ----------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class BoardEffect:
    """Who would see a benchmark: everybody, or the people with a role.

    `locked_out` are teams with runs, none of whose members has a role.
    """

    changes: bool
    public: bool
    systems: int
    runs: int
    people: int
    locked_out: list[str]

    def __str__(self) -> str:
        board = f"{counted(self.systems, 'system')} with {counted(self.runs, 'scored run')}"
        if not self.changes:
            return (
                f"{'Everybody' if self.public else 'Only people with a role'} would see it, as now: {board}."
            )
        if self.public:
            return f"Everybody would see it: {board}."
        words = f"Only {counted(self.people, 'person', 'people')} with a role would see it: {board}."
        if not self.locked_out:
            return words
        more = len(self.locked_out) - TEAMS_NAMED
        named = [quoted(team) for team in self.locked_out[:TEAMS_NAMED]] + [f"{more:,} more"] * (more > 0)
        return f"{words} {listed(named)} could no longer open it or submit, as no member has a role."


def effect(benchmark: Benchmark, *, by: User, **rules: Any) -> BoardEffect:
    """Change the rules, count who would see the board, and roll it back."""
    with transaction.atomic():
        trial = change(Benchmark.objects.get(pk=benchmark.pk), by=by, **rules)
        runs = trial.submissions.filter(state="scored", withdrawn_at=None)
        teams = Team.objects.filter(systems__in=trial.submissions.values("system")).distinct()
        inside = Team.objects.filter(members__user__in=trial.people.values("user"))
        outside = [] if trial.public else teams.exclude(pk__in=inside.values("pk")).order_by("name")
        found = BoardEffect(
            changes=trial.public != benchmark.public,
            public=trial.public,
            systems=runs.values("system").distinct().count(),
            runs=runs.count(),
            people=trial.people.count(),
            locked_out=[team.name for team in outside],
        )
        transaction.set_rollback(True)
    return found
