"""What a change of a setting would show, and how it would order the board, before it is saved."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone

from evalsvc.core.accounts.models import User
from evalsvc.core.web.formatting import counted, listed, quoted
from evalsvc.evaluation.benchmarks import creation, file_contract
from evalsvc.evaluation.boards import leaderboard
from evalsvc.evaluation.boards.ranking import Board
from evalsvc.evaluation.boards.system_names import names_on_board
from evalsvc.evaluation.dates import stated
from evalsvc.evaluation.disclosure import gold_digest
from evalsvc.evaluation.disclosure.policy import Policy, hidden_among
from evalsvc.evaluation.models import Setting, Submission
from evalsvc.evaluation.roles import is_sealed

ORDERING = ("main", "row_rule", "lower_is_better")
FIRST_NAMED = 3
STATES = {"coming": "not open yet", "open": "open", "closed": "closed"}


@dataclass(frozen=True, slots=True)
class Shown:
    """What teams see of a setting at a moment."""

    state: str
    figures: str
    words: str
    digest: bool


@dataclass(frozen=True, slots=True)
class OrderEffect:
    """Ranks before and with the change, by exact figures: of `systems`, those `moved` have another."""

    systems: int
    moved: int
    first_before: str
    first_after: str

    def __str__(self) -> str:
        if not self.moved:
            return f"By exact figures, the order of {counted(self.systems, 'ranked system')} stays the same."
        of = counted(self.systems, "ranked system")
        words = f"By exact figures, {self.moved:,} of {of} would have another rank"
        if self.first_before == self.first_after:
            return f"{words}; first is still {self.first_after}."
        return f"{words}; first is {self.first_after or 'none'} instead of {self.first_before or 'none'}."


@dataclass(frozen=True, slots=True)
class DisplayEffect:
    """What teams see of its runs now, with the change, and when it closes; and the order it changes."""

    runs: int
    teams: int
    before: Shown
    after: Shown
    at_closing: Shown | None
    closes: str
    elsewhere: int
    hiding: int
    order: OrderEffect | None = None

    def __str__(self) -> str:
        runs = f"{counted(self.runs, 'run')} of {counted(self.teams, 'team')}"
        same = self.before.words == self.after.words
        seen = (
            f"the same as now, {self.after.words}"
            if same
            else f"{self.after.words} instead of {self.before.words}"
        )
        return f"Teams would see {seen}, on {runs}.{self._more}{self._later}" + (
            f" {self.order}" if self.order else ""
        )

    @property
    def _more(self) -> str:
        state = f" The setting is {STATES[self.after.state]} then." * (self.before.state != self.after.state)
        opened = self.runs and self.before.figures == "exact" != self.after.figures
        known = " They have seen the errors: new runs may know the gold." * bool(opened)
        shown = "shown" if self.after.digest else "held back"
        digest = f" The digest of the gold is {shown}." * (self.before.digest != self.after.digest)
        others = f" {counted(self.elsewhere, 'other setting')} on this gold also"
        turn = f"{others} {'changes' if self.elsewhere == 1 else 'change'} between rounded and exact figures."
        return known + state + digest + turn * bool(self.elsewhere) + self._given_away

    @property
    def _given_away(self) -> str:
        if not self.hiding or self.after.figures != "exact" or self.after.state == "coming":
            return ""
        hiding = f"{counted(self.hiding, 'other setting')} {'hides' if self.hiding == 1 else 'hide'}"
        return f" {hiding} gold of these lines, which exact figures give away."

    @property
    def _later(self) -> str:
        if self.at_closing is None:
            return ""
        digest = " and the digest of the gold" * (self.at_closing.digest and not self.after.digest)
        return f" When it closes, on {self.closes}, they see {self.at_closing.words}{digest}."


def _shown(setting: Setting, at: datetime) -> Shown:
    gold = gold_digest.newest(setting)
    secret = gold_digest.SecretGold(at).holds_back(gold)
    figures, words = "exact", "all figures and counts" if secret else "all figures, counts and errors"
    if is_sealed(setting, at):
        figures, words = "none", "no figure"
    elif hidden_among([setting], at):
        rounded = Policy(setting, hidden=True).rounded
        figures = "rounded" if rounded else "none"
        words = f"rounded figures alone ({rounded})" if rounded else "no figure"
    return Shown(file_contract.state_at(setting, at), figures, words, not (secret or gold.only_id))


def of_change(setting: Setting, *, by: User, **changed: Any) -> DisplayEffect:
    """Change the setting, look at what teams see, and roll it back."""
    runs = Submission.objects.filter(evaluations__setting=setting, withdrawn_at=None)
    now = timezone.now()
    before, others = _shown(setting, now), gold_digest.others_on_gold(setting)
    hidden = hidden_among(others.all())
    with transaction.atomic():
        trial = Setting.objects.select_related("benchmark").get(pk=setting.pk)
        closes = creation.change_setting(trial, by=by, **changed).closes_at
        effect = DisplayEffect(
            runs=runs.distinct().count(),
            teams=runs.values("system__team").distinct().count(),
            before=before,
            after=_shown(trial, now),
            at_closing=_shown(trial, closes) if closes and closes > now else None,
            closes=stated(closes, setting.benchmark) if closes else "",
            elsewhere=len(hidden ^ (still := hidden_among(others.all()))),
            hiding=len(still),
        )
        transaction.set_rollback(True)
    if any(getattr(setting, name) != getattr(trial, name) for name in ORDERING):
        effect = replace(effect, order=_order(setting, trial, by))
    return effect


def _order(setting: Setting, trial: Setting, by: User) -> OrderEffect:
    """Rank the systems by both; nothing is locked meanwhile, as large boards take a second."""
    boards = [leaderboard.boards([each], person=by, measures=())[0] for each in (setting, trial)]
    before, after = (board.ordering.ranks for board in boards)
    systems = before.keys() | after.keys()
    moved = sum(before.get(system) != after.get(system) for system in systems)
    return OrderEffect(len(systems), moved, *map(_first, boards))


def _first(board: Board) -> str:
    """Name the systems of the first rank."""
    first = [system for system, rank in board.ordering.ranks.items() if rank == 1]
    names = [quoted(name) for name in names_on_board(board, first[:FIRST_NAMED]).values()]
    more = len(first) - len(names)
    return listed(names + [f"{more:,} more"] * (more > 0))
