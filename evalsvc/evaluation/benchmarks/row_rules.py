"""Which of its runs a system shows on a leaderboard: all as their mean, or one."""

from __future__ import annotations

from collections.abc import Iterable

from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.web.formatting import listed, quoted
from evalsvc.evaluation.models import Benchmark, Setting

MEAN, LATEST, ENTRY, FINAL, BEST = "mean", "latest", "entry", "final", "best:"
BY_CHOICE = (ENTRY, FINAL)
TITLES = {
    MEAN: "mean of all runs",
    LATEST: "latest run with figures",
    ENTRY: "final entry of the team, else its latest run with figures; other systems show theirs unranked",
    FINAL: "run that the team chose as final for the system, else the latest with figures",
}


def title(setting: Setting) -> str:
    """Describe the rule of a setting."""
    key = best_on(setting.row_rule)
    best = f"run with the best main measure under “{key}”, else the latest with figures"
    return best if key else TITLES[setting.row_rule]


def run_shown(setting: Setting) -> str:
    """Describe the one run that a row shows; empty where rows show means."""
    return "" if setting.row_rule == MEAN else f"the {title(setting)}"


def figures(setting: Setting) -> str:
    """Say what the figures of a row are."""
    if one := run_shown(setting):
        return f"figures of one run of each system: {one}; n runs with different answers"
    return "mean ± standard deviation over n runs with different answers"


def figures_under(settings: Iterable[Setting]) -> str:
    """Say what the figures of rows are, by setting if these have several rules."""
    titles: dict[str, list[str]] = {}
    for setting in settings:
        titles.setdefault(figures(setting), []).append(quoted(setting.title))
    if len(titles) == 1:
        return next(iter(titles))
    return ". ".join(f"{listed(of)}: {words}" for words, of in titles.items())


def run_drawn(setting: Setting) -> str:
    """Name the run of a system of which curves are."""
    return "median run" if setting.row_rule == MEAN else "run shown"


def best_on(rule: str) -> str:
    """Return the key of the setting that chooses the run, else nothing."""
    return rule.removeprefix(BEST) if rule.startswith(BEST) else ""


def choices(benchmark: Benchmark | None, *, but: str = "") -> list[tuple[str, str]]:
    """List the rules for a setting with their titles; no setting chooses its own runs."""
    others = benchmark.settings.all() if benchmark else ()
    best = [(f"{BEST}{each.key}", f"best run under “{each.title}”") for each in others if each.key != but]
    return [*TITLES.items(), *best]


def check(benchmark: Benchmark, rule: str, *, key: str) -> None:
    """Reject a rule that is unknown, or names no other setting."""
    known = [value for value, _ in choices(benchmark, but=key)]
    if rule not in known:
        detail = f"{rule[:60]!r} is not a rule for the row of a system."
        raise DomainError("bad_choice", detail, hint=f"Use {', '.join(known)}.", field="row_rule")
