"""The same systems in several settings of a benchmark: turned orders, and joint significance.

Everything is taken from what the reader sees of each setting.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from annotation.testset import Origin
from evalsvc.core.web.formatting import DASH, are, counted, measured, p_text, signed
from evalsvc.core.web.tables import Cell, Head, PaperTable
from evalsvc.evaluation.boards import leaderboard
from evalsvc.evaluation.boards.rank_reversals import count_pairs, shows_other_runs, with_same_runs
from evalsvc.evaluation.boards.ranking import Board, Column
from evalsvc.evaluation.comparison.compared import LEAST, Comparison
from evalsvc.evaluation.models import Setting
from evalsvc.evaluation.roles import Person

ALPHA = 0.05
JOINT_METHOD = (
    "Ahead in every setting: the greatest p of the settings is below .05 (intersection–union test). Ahead in"
    " some: Holm over the settings. p are those after Holm over the pairs of a setting: the greatest of a"
    " range where one is shown, 1 without a test."
)


@dataclass(frozen=True)
class TwoSettings:
    """Means of the same systems by one measure in two settings, in the order of the first.

    `kept`, `turned` and `tied` count pairs of systems, as `count_pairs` does; so is tau_b.
    """

    first: Setting
    second: Setting
    column: Column
    rows: list[tuple[str, float, float]]
    kept: int
    turned: int
    tied: int
    tau_b: float | None
    rounded: bool = False

    @property
    def pairs(self) -> int:
        return self.kept + self.turned + self.tied


def two_settings(
    first: Board, second: Board, column: Column, rows: Sequence[tuple[str, float, float]]
) -> TwoSettings:
    """Order systems by their means in the first setting, and count pairs that the second one turns."""
    better, key = 1 if column.measure.higher_is_better else -1, column.measure.key
    ordered = sorted(rows, key=lambda row: (-better * row[1], row[0]))
    steps = first.policy.greatest_step(key), second.policy.greatest_step(key)
    kept, turned, equal, tau_b = count_pairs([(here, there) for _, here, there in ordered], steps)
    settings = first.setting, second.setting
    return TwoSettings(*settings, column, ordered, kept, turned, equal, tau_b, any(steps))


@dataclass(frozen=True)
class Joint:
    """Two systems by a measure in all settings with figures of both, of which `untested` lack a test.

    `places` are those of the comparison. `ahead` counts the settings in which the first, or the second, is
    ahead by Holm over the settings; in so many `alone` one is by the test of that setting. `winner` is the
    place of the system that is ahead in every setting, and p the greatest of the settings, None where some
    show only ranges.
    """

    places: tuple[int, int]
    settings: int
    ahead: tuple[int, int]
    winner: int | None
    p: float | None
    untested: int = 0
    alone: int = 0


def joint(
    places: tuple[int, int],
    winners: Sequence[int | None],
    p_values: Sequence[float],
    *,
    untested: int = 0,
    has_ranges: bool = False,
) -> Joint | None:
    """Test a pair over several settings; None with fewer than two that are tested.

    `winners` are the places of the systems ahead by the test of each setting, `p_values` its p after Holm
    over the pairs of the setting, the greatest of its range where that alone is shown: so this tells no more
    than the ranges. An untested setting has p = 1: whoever computes tests would choose else in which ones a
    system is ahead. All winners the same: significant in every setting at once without adjustment
    (intersection–union, Berger 1982). How many are at once, which settings left open: Holm over the settings
    (Dror et al. 2017).
    """
    if len(winners) - untested < LEAST:
        return None
    winner = winners[0] if len(set(winners)) == 1 else None
    counts = Counter(_kept_by_holm(winners, p_values) if winner is None else winners)
    ahead = (counts[places[0]], counts[places[1]])
    p = None if winner is None or has_ranges else max(p_values)
    alone = sum(each is not None for each in winners)
    return Joint(places, len(winners), ahead, winner, p, untested, alone)


def _kept_by_holm(winners: Sequence[int | None], p_values: Sequence[float]) -> list[int | None]:
    """Return the winners of the settings whose p stays below .05 by Holm (1979)."""
    kept: list[int | None] = []
    for place, (p, at) in enumerate(sorted((p, at) for at, p in enumerate(p_values))):
        if p * (len(p_values) - place) >= ALPHA:
            break
        kept.append(winners[at])
    return kept


@dataclass(frozen=True)
class AcrossSettings:
    """A comparison beside those of the same systems in the other settings."""

    here: Comparison
    others: list[Comparison]

    @property
    def column(self) -> Column:
        """The main measure, by which settings are compared."""
        return self.here.board.ordering

    @property
    def drawn(self) -> list[TwoSettings]:
        """This setting with each other one; the one with labels by hand first."""
        drawn = []
        for other in self.others:
            key = self.column.measure.key
            there, alike = other.board.columns.get(key), with_same_runs(self.here.board, other.board)
            rows = [
                (name, mine.mean, yours.mean)
                for name, row in zip(self.here.names, self.here.rows, strict=True)
                if row.system.pk in alike
                if (mine := self.column.figures.get(row.system.pk)) and mine.mean is not None
                if there and (yours := there.figures.get(row.system.pk)) and yours.mean is not None
            ]
            here, beside = self.here.board, other.board
            if len(rows) < LEAST:
                continue
            if is_held_out(here.setting) and not is_held_out(beside.setting):
                turned = [(name, second, first) for name, first, second in rows]
                drawn.append(two_settings(beside, here, self.column, turned))
            else:
                drawn.append(two_settings(here, beside, self.column, rows))
        return drawn

    @property
    def held_out(self) -> Comparison | None:
        """The comparison on labels of a source that stands beside one on labels by people.

        That of exactly the same sentences comes first.
        """
        here = self.here.setting
        if is_held_out(here):
            return None
        same_runs = (each for each in self.others if not shows_other_runs(self.here.board, each.board))
        others = (each for each in same_runs if is_held_out(each.setting))
        same_unit = (each for each in others if each.setting.unit == here.unit)
        return min(same_unit, key=lambda each: each.setting.only_id is None, default=None)

    @property
    def joint(self) -> list[Joint]:
        """Every pair over the settings with figures of both."""
        return [
            tested
            for places in combinations(range(len(self.here.rows)), 2)
            if (tested := self._joint(places)) is not None
        ]

    def _joint(self, places: tuple[int, int]) -> Joint | None:
        systems = [self.here.rows[place].system.pk for place in places]
        winners: list[int | None] = []
        p_values: list[float] = []
        untested, has_ranges, key = 0, False, self.column.measure.key
        for comparison in (self.here, *self.others):
            there = {row.system.pk: (place, row.figure(key)) for place, row in enumerate(comparison.rows)}
            placed = [there.get(system, (0, None)) for system in systems]
            if any(figure is None or figure.mean is None for _, figure in placed):
                continue
            a, b = (place for place, _ in placed)
            test = comparison.test(key, a, b) if comparison.is_tested else None
            if test is None or test.reason:
                untested += 1
                winners.append(None)
                p_values.append(1.0)
            else:
                winners.append(None if test.winner is None else places[(a, b).index(test.winner)])
                p_values.append(test.greatest_p_holm)
                has_ranges |= test.p_holm is None
        return joint(places, winners, p_values, untested=untested, has_ranges=has_ranges)

    def sentence(self, pair: Joint) -> str:
        """State what may be claimed of a pair over the settings."""
        a, b = (self.here.names_in_sentences[place] for place in pair.places)
        title, n = self.column.title, pair.settings
        if pair.winner is not None:
            first, second = (a, b) if pair.winner == pair.places[0] else (b, a)
            p = "< .05" if pair.p is None else p_text(pair.p)
            every = {2: "both"}.get(n, f"all {n}")
            return f"{first} is ahead of {second} by {title} in {every} settings (greatest p {p})."
        settings = f"{n} settings" + (f", {pair.untested} of them not tested" if pair.untested else "")
        if not any(pair.ahead):
            none = f"No difference between {a} and {b} by {title}"
            if pair.alone:  # which the sentence on that setting states
                single = f"by single tests one is ahead in {pair.alone}"
                return f"{none} is left after Holm over {settings}; {single}."
            return f"{none} could be shown in any of {settings}."
        ahead = " and ".join(
            f"{name} is ahead in {count}" for name, count in zip((a, b), pair.ahead, strict=True) if count
        )
        return f"{a} and {b} by {title} in {settings}: {ahead}."


def is_held_out(setting: Setting) -> bool:
    """True for labels of a source, without people."""
    return bool(setting.test_set.origin == Origin.SOURCE)


def across(here: Comparison, *, person: Person | None) -> AcrossSettings:
    """Find the systems of a comparison in the other settings of their benchmark that a person may see."""
    related = here.setting.benchmark.settings.select_related("benchmark", "test_set", "only")
    settings = list(related.exclude(pk=here.setting.pk).order_by("rank", "pk"))
    chosen = {row.system.pk for row in here.rows}
    others = []
    for board in leaderboard.boards(settings, person=person) if settings else ():
        rows = [] if board.sealed else [row for row in board.rows if row.system.pk in chosen]
        if len(rows) >= LEAST:
            others.append(Comparison(board, rows))
    return AcrossSettings(here, others)


# ---- tables --------------------------------------------------------------------------------------
def settings_table(compared: TwoSettings) -> PaperTable:
    measure = compared.column.measure
    heads = [Head("system", "System", numeric=False)]
    heads += [Head(setting.key, setting.title) for setting in (compared.first, compared.second)]
    rows = [
        [Cell(name, name), *(Cell(value, measured(value, measure)) for value in values)]
        for name, *values in compared.rows
    ]
    return PaperTable(f"{compared.first.key}-{compared.second.key}", caption(compared), heads, rows)


def finding(compared: TwoSettings) -> str:
    """State whether the second setting orders the systems alike."""
    some = f"{compared.turned} of {counted(compared.pairs, 'pair')} {are(compared.turned)} reversed"
    found = some if compared.turned else "no pair is reversed"
    return f"“{compared.second.title}”: {found}{' by a step or more' if compared.rounded else ''}"


def caption(compared: TwoSettings) -> str:
    tau = DASH if compared.tau_b is None else signed(compared.tau_b, digits=2)
    equal = f"{are(compared.tied)} {'less than a step apart' if compared.rounded else 'equal'}"
    return (
        f"{compared.column.title}, in the order of “{compared.first.title}”."
        f" Of {counted(compared.pairs, 'pair')}, “{compared.second.title}” keeps the order of {compared.kept}"
        f" and reverses {compared.turned}; {compared.tied} {equal}. Kendall’s τ-b {tau}."
    )


def joint_table(compared: AcrossSettings) -> PaperTable:
    heads = [
        Head("a", "A", numeric=False), Head("b", "B", numeric=False), Head("settings", "Settings"),
        Head("a_ahead", "A ahead"), Head("b_ahead", "B ahead"), Head("p", "p"),
        Head("ahead", "Ahead in all", numeric=False),
    ]  # fmt: skip
    rows = []
    for each in compared.joint:
        names = [compared.here.names[place] for place in each.places]
        winner = "" if each.winner is None else compared.here.names[each.winner]
        cells = [Cell(name, name) for name in names]
        cells += [Cell(count, str(count)) for count in (each.settings, *each.ahead)]
        rows.append([*cells, Cell(each.p, DASH if each.p is None else p_text(each.p)), Cell(winner, winner)])
    return PaperTable("joint", f"By {compared.column.title}. {JOINT_METHOD}", heads, rows)
