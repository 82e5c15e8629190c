"""What a new version of a setting moved: ranks, figures, and the labels behind it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter

from django.urls import reverse

from annotation.testset import BoardMove, TestSet
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.web.formatting import are, counted, listed, quoted
from evalsvc.evaluation.benchmarks import versions
from evalsvc.evaluation.boards import leaderboard
from evalsvc.evaluation.boards.leaderboard import BoardRequest
from evalsvc.evaluation.boards.rank_reversals import direction_finder, reversals
from evalsvc.evaluation.boards.ranking import Board, BoardRow, Column
from evalsvc.evaluation.boards.system_names import distinct_names
from evalsvc.evaluation.boards.systems import BoardSystem, Systems
from evalsvc.evaluation.comparison.label_moves import Change, LabelMove, label_moves
from evalsvc.evaluation.disclosure.rules import TINY
from evalsvc.evaluation.measures.menu import board_measures
from evalsvc.evaluation.models import Setting, SettingVersion
from evalsvc.evaluation.roles import Person, visible

MAX_BOARDS = 20


@dataclass(frozen=True)
class SystemMove:
    """System on both boards; ranks are among those with exact figures of the same runs.

    So many of its runs are scored under the earlier version alone, and under the newer one alone.
    """

    row: BoardRow
    rank_before: int | None
    rank_after: int | None
    changes: dict[str, Change]
    runs_before_alone: int = 0
    runs_after_alone: int = 0

    @property
    def climbed(self) -> int:
        """Return the ranks gained, below 0 those lost."""
        return self.rank_before - self.rank_after if self.rank_before and self.rank_after else 0


@dataclass(frozen=True)
class Moves:
    """Boards of a version and of the one that was shown before it, over the runs that both scored.

    `left` are the systems on the earlier board alone, `entered` those on the newer one alone. So many runs of
    either were `withdrawn` when their figures were known; they are on neither. Runs scored under one version
    `alone`, the earlier or the newer, are counted by system; `apart` are systems on both boards without a run
    that both scored.
    """

    before: Board
    after: Board
    left: list[BoardSystem]
    entered: list[BoardSystem]
    withdrawn: int
    alone: tuple[Mapping[int, int], Mapping[int, int]]
    apart: list[BoardSystem]

    @property
    def setting(self) -> Setting:
        return self.after.setting

    @property
    def hidden(self) -> bool:
        """True if figures of either version are rounded."""
        return self.before.policy.hidden or self.after.policy.hidden

    def _change(self, key: str, old: BoardRow, new: BoardRow) -> Change:
        """Return a change; it has a difference of the same runs alone, and none that rounding may turn."""
        before, after = _mean(old, key), _mean(new, key)
        if before is None or after is None or _runs(old, key) != _runs(new, key):
            return Change(before, after, None)
        step = max(board.policy.greatest_step(key) for board in (self.before, self.after))
        difference = after - before
        return Change(before, after, difference if abs(difference) >= step - TINY else None)

    @cached_property
    def names(self) -> dict[int, str]:
        """Names of the systems, with the team where one alone could mislead."""
        both = [row.system for row in self._both[1]]
        return distinct_names([*both, *self.left, *self.apart], self.after, beside=self.entered)

    @cached_property
    def measures(self) -> list[str]:
        """Measures of the board's table that both boards have, the main one first."""
        present = [key for key in self.after.columns if key in self.before.columns]
        keys = [self.after.order_by, *(measure.key for measure in board_measures(self.setting, present))]
        return [key for key in dict.fromkeys(keys) if key in present]

    @cached_property
    def _both(self) -> tuple[list[BoardRow], list[BoardRow]]:
        before, after = ({row.system.pk: row for row in each.rows} for each in (self.before, self.after))
        shared = [pk for pk in after if pk in before]
        return [before[pk] for pk in shared], [after[pk] for pk in shared]

    @cached_property
    def _alike(self) -> set[int]:
        """Systems whose main figures are exact, and of the same runs under both versions."""
        key, both = self.after.order_by, zip(*self._both, strict=True)
        return {old.system.pk for old, new in both if not self.hidden and _runs(old, key) == _runs(new, key)}

    @cached_property
    def systems(self) -> list[SystemMove]:
        """Systems on both boards, in the order of the newer one."""
        before, after = self._both
        alike = self._alike
        ranks = [
            _ranks(board, [row for row in rows if row.system.pk in alike])
            for board, rows in ((self.before, before), (self.after, after))
        ]
        return [
            SystemMove(
                new,
                ranks[0].get(new.system.pk),
                ranks[1].get(new.system.pk),
                {key: self._change(key, old, new) for key in self.measures},
                *(runs.get(new.system.pk, 0) for runs in self.alone),
            )
            for old, new in zip(before, after, strict=True)
        ]

    @cached_property
    def turned(self) -> list[tuple[BoardSystem, BoardSystem]]:
        """Pairs of the first 50 systems whose order by the main measure turned, the widest first.

        Who was ahead before stands first, who is now second. Both differences have a shown digit, of systems
        with exact figures of the same runs.
        """
        before, after = self.before.ordering, self.after.ordering
        led, leads = (direction_finder(each.measure) for each in (before, after))
        systems = self.after.systems
        return [
            (systems[pair.first], systems[pair.second])
            for pair in reversals(before, [after])
            if led(pair.gain) and leads(pair.loss) and self._alike >= {pair.first, pair.second}
        ]

    @cached_property
    def summary(self) -> str:
        """Say how many systems changed rank, if readers may know."""
        if self.after.sealed:
            return "The scores are sealed."
        if not self.systems:
            return "No run has scores under both versions."
        if self.hidden:
            return "No order is compared while gold is hidden."
        turned, title = len(self.turned), self.after.ordering.title
        climbed = sum(move.climbed != 0 for move in self.systems)
        over = "Over the runs that both versions scored, " if any(self.alone) else ""
        if not climbed and not turned:
            # the boards, with their other runs, may say otherwise
            same = f"ranks by {title} are the same." if over else f"No system changed rank by {title}."
            return f"{over}{same}"
        among = f"{over}{counted(climbed, 'system')} of {len(self.systems):,} changed rank"
        return f"{among}, {counted(turned, 'pair')} reversed by {title}. Not a significance test."

    @property
    def without(self) -> str:
        """Say how many runs the report leaves out that the boards show or may have shown, empty for none."""
        sentences = []
        if alone := [
            f"{counted(runs, 'run')} {are(runs)} scored under version {board.version.number} alone"
            for runs, board in ((self.before_alone, self.before), (self.after_alone, self.after))
            if runs
        ]:
            one = self.before_alone + self.after_alone == 1
            count = "its board counts it" if one else "the boards count them"
            sentences.append(f"{listed(alone)}: {count}, this report does not.")
        if self.apart:
            names = listed([quoted(self.names[each.pk]) for each in self.apart])
            sentences.append(f"On both boards, without a run that both versions scored: {names}.")
        if self.withdrawn:
            were, them = ("run was", "it") if self.withdrawn == 1 else ("runs were", "them")
            counted_without = f"ranks and figures of both versions are counted without {them}"
            sentences.append(f"{self.withdrawn:,} {were} withdrawn after scoring; {counted_without}.")
        return " ".join(sentences)

    @property
    def held_back(self) -> str:
        """Say what readers do not see of the figures; each version may have steps of its own."""
        boards = (self.before, self.after)
        texts = list(dict.fromkeys(each.held_back for each in boards))
        if len(texts) == 1:
            return texts[0]
        stated = [(each.version.number, each.held_back) for each in boards if each.held_back]
        return " ".join(f"Version {number}: {text}" for number, text in stated)

    @property
    def before_alone(self) -> int:
        return sum(self.alone[0].values())

    @property
    def after_alone(self) -> int:
        return sum(self.alone[1].values())

    @cached_property
    def labels(self) -> list[LabelMove]:
        """Labels by their effect on micro F1, over the first 50 systems; none while gold is hidden."""
        return [] if self.hidden else label_moves((self.before, self.after), self._both)


def moves(setting: Setting, number: int, *, person: Person | None = None) -> Moves:
    """Compare the board of a version with the one that was shown before it."""
    version = versions.of_setting(setting, number)
    if number == 1:
        detail = f"Version 1 of “{setting.title}” is its first; nothing was scored before it."
        raise DomainError("first_version", detail, field="version")
    before = versions.of_setting(setting, version.shown_before or number - 1)
    earlier, later = versions.runs_of([before, version])
    both = earlier.keys() & later.keys()
    requests = [BoardRequest(setting, version=each.number, runs=both) for each in (before, version)]
    first, second = (leaderboard.requested_boards([request], person)[0] for request in requests)
    if first.sealed:
        return Moves(first, second, [], [], 0, ({}, {}), [])
    systems = [{run.system_id for run in runs.values() if run.active} for runs in (earlier, later)]
    shared = {run.system_id for pk, run in (earlier | later).items() if pk in both and run.active}
    groups = [systems[0] - systems[1], systems[1] - systems[0], (systems[0] & systems[1]) - shared]
    known = second.systems if second.figures.runs else Systems([setting.benchmark_id])
    left, entered, apart = (
        sorted((known[pk] for pk in each), key=attrgetter("name", "pk")) for each in groups
    )
    withdrawn = sum(setting.pk in run.known_under for run in (earlier | later).values())
    old_alone, new_alone = (
        Counter(run.system_id for pk, run in runs.items() if run.active and pk not in both)
        for runs in (earlier, later)
    )
    return Moves(first, second, left, entered, withdrawn, (old_alone, new_alone), apart)


def between(first: TestSet, second: TestSet, user: User) -> list[BoardMove]:
    """List the boards that went from one test set to another, and the ranks that moved."""
    newer = SettingVersion.objects.filter(test_set=second, setting__benchmark__in=visible(user), number__gt=1)
    versions_of = newer.select_related("setting__benchmark").order_by("-pk")
    result = []
    for version in versions_of[:MAX_BOARDS]:
        setting = version.setting
        before = versions.of_setting(setting, version.shown_before or version.number - 1)
        if before.test_set_id == first.pk:
            url = reverse("version-moves", args=[setting.benchmark.slug, setting.key, version.number])
            title = f"{setting.benchmark.title}, {setting.title}"
            found = moves(setting, version.number, person=user)
            result.append(BoardMove(title, url, f"{found.summary} {found.without}".rstrip()))
    return result


def _ranks(board: Board, rows: Collection[BoardRow]) -> dict[int, int]:
    """Rank these systems among themselves, but those without an entry where each team has one."""
    entered = [row for row in rows if row.runs.entered]
    figures = {row.system.pk: figure for row in entered if (figure := row.figure(board.order_by))}
    return Column(board.ordering.measure, figures, "").ranks


def _mean(row: BoardRow, key: str) -> float | None:
    figure = row.figure(key)
    return figure.mean if figure else None


def _runs(row: BoardRow, key: str) -> list[str]:
    """Return the names of the runs that a mean is over."""
    runs = row.runs
    values = row.board.figures.by_measure.run_values(key).get(runs.system) or [None] * len(runs.names)
    named = zip(runs.names, values, strict=True)
    return [name for name, value in named if value is not None and runs.chosen in ("", name)]
