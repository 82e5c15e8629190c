"""Ledger: the most bits of hidden gold that scores gave away."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from evalsvc.core.accounts.models import Team
from evalsvc.core.web.formatting import counted
from evalsvc.evaluation.disclosure import rules
from evalsvc.evaluation.disclosure.history import showing
from evalsvc.evaluation.disclosure.policy import Policy, hidden_among
from evalsvc.evaluation.measures.computation import f_title
from evalsvc.evaluation.measures.menu import as_shown, offered
from evalsvc.evaluation.models import Benchmark, Setting
from evalsvc.evaluation.roles import shown_to_teams


@dataclass(frozen=True)
class Cost:
    """Bits per file of something shown."""

    title: str
    step: float | None
    bits: float
    shown: bool


@dataclass(frozen=True)
class TeamBits:
    """Files of a team with figures of their own, and bits of these under all versions."""

    team: Team
    files: int
    bits: float
    share: float


@dataclass(frozen=True)
class Ledger:
    """Bits that the scores of a setting give away, by team."""

    setting: Setting

    @cached_property
    def policy(self) -> Policy:
        return Policy(self.setting, hidden=True)

    @cached_property
    def gold_bits(self) -> float:
        """N·H of the labels."""
        gold = self.policy.gold
        of_relations = rules.label_bits(gold.relations.values())
        return rules.label_bits([*gold.classes.values(), gold.negative]) + of_relations

    @cached_property
    def costs(self) -> list[Cost]:
        """Cost of each measure and of class rows."""
        shown = set(self.policy.measures)
        costs = []
        for measure in offered(self.setting.kind):
            step = self.policy.step(measure.key, self.policy.most_claims)
            if measure.key in shown or (step and measure.ranks and measure.board.get(self.setting.kind)):
                bits = rules.bits(step) if step else 0.0
                title = as_shown(self.setting, measure.key).title
                costs.append(Cost(title, step, bits, measure.key in shown))
        gold = self.policy.gold
        large = sum(count >= gold.least_class for count in gold.readings[0].classes.values())
        least = gold.least_class * gold.relations_of_span
        large += sum(count >= least for count in gold.relations.values())
        if large:
            bits = large * rules.bits(rules.CLASS_STEP)
            f = f_title(gold.beta)
            costs.append(
                Cost(
                    f"{f} of {counted(large, 'class', 'classes')}",
                    rules.CLASS_STEP,
                    bits,
                    self.setting.class_rows,
                )
            )
        return costs

    @property
    def bits_per_file(self) -> float:
        return sum(cost.bits for cost in self.costs if cost.shown)

    @cached_property
    def teams(self) -> list[TeamBits]:
        """Teams by figures; near-duplicates, and scores sealed since they are there, gave none away.

        Each further gold of the setting shows further figures of a file.
        """
        shown = showing().filter(shown_to_teams(self.setting), evaluation__setting=self.setting)
        columns = ("submission__system__team", "submission", "evaluation__gold_sha256", "only")
        figures: dict[int, set[tuple[Any, ...]]] = defaultdict(set)
        for team, *row in shown.values_list(*columns):
            figures[team].add(tuple(row))
        teams = Team.objects.in_bulk(figures)
        return [
            self._of_team(teams[pk], of_team)
            for pk, of_team in sorted(figures.items(), key=lambda each: -len(each[1]))
        ]

    def _of_team(self, team: Team, figures: Collection[tuple[Any, ...]]) -> TeamBits:
        bits = len(figures) * self.bits_per_file
        return TeamBits(team, len({run for run, *_ in figures}), bits, self.share(bits))

    def share(self, bits: float) -> float:
        """Return the share of the gold's bits, at most 1."""
        return min(bits / self.gold_bits, 1.0) if self.gold_bits else 0.0

    def warns(self, most: int | None) -> bool:
        """True if a team knows too much of the gold, or may with the files it has (None: without limit)."""
        if any(team.share > rules.WARN_ABOVE for team in self.teams):
            return True
        if self.setting.has_closed() or not self.bits_per_file:
            return False
        return most is None or self.share(most * self.bits_per_file) > rules.WARN_ABOVE


def ledgers(benchmark: Benchmark) -> list[Ledger]:
    """Return the ledgers of the settings that hide their gold, and of those that did until they closed."""
    settings = list(benchmark.settings.select_related("test_set", "only", "benchmark"))
    hidden = hidden_among(settings)
    return [Ledger(each) for each in settings if each.pk in hidden or did_hide(each)]


def did_hide(setting: Setting) -> bool:
    """True for a hidden setting that has closed: what its figures gave away before stays on record."""
    return setting.disclosure == Setting.Disclosure.HIDDEN and setting.has_closed()
