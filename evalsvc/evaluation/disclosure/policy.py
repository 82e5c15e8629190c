"""Policy of a setting towards one reader: open, or held back.

Every way out of the service (boards, submissions, API, downloads, charts, commands) shows `Disclosed`
evaluations and the figures a `Policy` returns, never the stored ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from math import inf
from typing import Any

from django.utils import timezone

from evalsvc.core.web.formatting import listed, number, percent
from evalsvc.evaluation.dates import stated
from evalsvc.evaluation.disclosure import gold_counts, gold_digest, rules
from evalsvc.evaluation.disclosure.sensitivity import (
    NEVER_SHOWN,
    OVER_THRESHOLDS,
    GoldCounts,
    largest_change,
)
from evalsvc.evaluation.measures.computation import complete_options
from evalsvc.evaluation.measures.menu import MENU, as_shown, board_measures, menu_of, offered
from evalsvc.evaluation.models import Setting, SettingVersion
from evalsvc.evaluation.roles import Person, organised

BESIDE_MAIN, DIRECTION = 2, "(e1,e2)"
CLASS_FAMILY = {"sentence": "classification", "bag": "bags", "document": "conll", "joint": "conll"}
RELATION_CLASSES = "relation_strict"
KEPT_COUNTS = ("missing", "left_out")
WITHHELD = "withheld"  # how the reason of a figure that is held back begins


@dataclass(frozen=True, slots=True)
class ShownValue:
    """Value of a measure as it leaves.

    `withheld` when it exists and is held back.
    """

    measure: str
    value: float | None
    reason: str = ""
    withheld: bool = False


def undefined(reason: str) -> str:
    """Say that a figure is undefined, or that it is held back, with the reason."""
    return reason if reason.startswith(WITHHELD) else f"undefined: {reason}"


def hidden_among(settings: Iterable[Setting], now: datetime | None = None) -> set[int]:
    """Return the settings whose exact figures would give their gold away.

    A closed setting stays hidden while the gold of any version of it is secret elsewhere.
    """
    at = now or timezone.now()
    hiding = [each for each in settings if each.disclosure == Setting.Disclosure.HIDDEN]
    hidden = {each.pk for each in hiding if not each.has_closed(at)}
    if closed := {each.pk for each in hiding} - hidden:
        secret = gold_digest.SecretGold(at)
        versions = SettingVersion.objects.filter(setting__in=closed).select_related("setting")
        hidden |= {each.setting_id for each in versions if secret.has_lines_of(each)}
    return hidden


def is_hidden(setting: Setting, now: datetime | None = None) -> bool:
    """True while exact figures of a setting would give its gold away."""
    return bool(hidden_among([setting], now))


def held_back_from(settings: Iterable[Setting], person: Person | None) -> set[int]:
    """Return settings with exact figures hidden from a person (None: the public)."""
    read = list(settings)
    hidden = hidden_among(read)
    asked = [each for each in read if each.pk in hidden]
    mine = organised((each.benchmark_id for each in asked), person) if asked else set()
    return {each.pk for each in asked if each.benchmark_id not in mine}


def policy_for(setting: Setting, person: Person | None) -> Policy:
    """Return what a person (None: the public) sees of a setting."""
    return Policy(setting, bool(held_back_from([setting], person)))


@dataclass(frozen=True)
class Policy:
    """Rules on the scores of a setting under one gold version."""

    setting: Setting
    hidden: bool
    version: SettingVersion | None = None

    @cached_property
    def gold(self) -> GoldCounts:
        return gold_counts.of_version(self.setting, self.version)

    @cached_property
    def measures(self) -> list[str]:
        """Keys of the measures shown.

        While hidden the chosen ones, else the main one and two more.
        """
        setting = self.setting
        if not self.hidden:
            return [*(setting.measures or MENU), *(key for key in menu_of(setting) if key not in MENU)]
        if setting.ladder:
            return [setting.main]
        chosen = setting.measures or self._usual()
        return [
            key
            for key in dict.fromkeys([setting.main, *chosen])
            if key in MENU and not NEVER_SHOWN.fullmatch(key)
        ]

    def _usual(self) -> list[str]:
        """Return the usual columns whose step depends on no file."""
        directed = any(DIRECTION in label["name"] for label in self.setting.benchmark.labels)
        present = {
            each.key for each in offered(self.setting.kind) if directed or each.family != "semeval2010"
        }
        keys = [measure.key for measure in board_measures(self.setting, present)[1:]]
        return [key for key in keys if self.step(key) is not None][:BESIDE_MAIN]

    def step(self, key: str, claims: Mapping[str, int] | None = None) -> float | None:
        """Return the step of a measure, of a Ladder at least that of other figures; None: withheld.

        Contributed ones are, as it is not known what a gold label moves them by.
        """
        if key not in MENU:
            return None
        ladder = self.setting.ladder if key == self.setting.main else None
        change = largest_change(key, self.gold, (None if ladder else claims) or {})
        step = None if change is None else rules.step_for(change)
        return step if step is None or not ladder else max(step, ladder)

    def greatest_step(self, key: str) -> float:
        """Return the greatest step of a measure, as that of a precision depends on the claims; 0 if exact."""
        step = self.step(key) if self.hidden else 0.0
        return rules.STEPS[-1] if step is None else step

    def value(
        self, key: str, value: float | None, *, reason: str = "", claims: Mapping[str, int] | None = None
    ) -> ShownValue:
        """Round a value to its step, or withhold it, also if it is undefined: that tells of small gold."""
        if not self.hidden:
            return ShownValue(key, value, reason)
        step = self.step(key, self.most_claims if value is None else claims)
        if step is None:
            return ShownValue(key, None, self.withheld, withheld=True)
        return ShownValue(key, None if value is None else rules.rounded(value, step), reason)

    def is_over_thresholds(self, key: str) -> bool:
        """True unless a figure of scores is counted at the best threshold, which a gold label moves."""
        benchmark = self.setting.benchmark
        options = complete_options(benchmark.options, task=benchmark.task)
        plain = options["beta"] == 1.0 and not options.get("include_negative")
        return bool(OVER_THRESHOLDS.fullmatch(key)) or (plain and key == "micro_f1")

    @property
    def most_claims(self) -> dict[str, int]:
        """A claim of every class for each item: with these the step of a precision is finest."""
        return dict.fromkeys((*self.gold.readings[0].classes, *self.gold.relations), self.gold.items)

    @cached_property
    def withholds_main(self) -> bool:
        """True if teams see no figure of the main measure, so that no order is shown."""
        return self.withholds(self.setting.main)

    def withholds(self, key: str) -> bool:
        """True if teams see no figure of a measure, whatever their files claim."""
        return self.hidden and self.step(key, self.most_claims) is None

    @property
    def withheld(self) -> str:
        return f"{WITHHELD} {self.until}: one gold label may move it by 5 points or more"

    @property
    def withheld_at_tau(self) -> str:
        return f"{WITHHELD} {self.until}: the gold decides the threshold of scores; labels have this figure"

    @property
    def until(self) -> str:
        closes = self.setting.closes_at
        if self.setting.has_closed():
            return "while another setting hides this gold or lines of it"
        at = stated(closes, self.setting.benchmark) if closes else ""
        return f"until {at}" if at else "while the setting is open"

    @property
    def sentence(self) -> str:
        """One sentence on what is held back, why, and until when.

        Empty if nothing is.
        """
        if not self.hidden:
            return ""
        rounded = f"Figures of runs are rounded ({self.rounded})"
        shown = rounded if self.rounded else "No figure is shown"
        if self.rounded and self.setting.ladder:
            best = "the best one shown of its team"
            shown += f", and a run shows one only if it improves {best} by more than that (Ladder)"
        shown += (
            "; equal ones have no deviation, and exact ones may have another order" if self.rounded else ""
        )
        main = as_shown(self.setting, self.setting.main).title
        classes = "figures of other classes" if self.setting.class_rows else "figures per class"
        others = f"further measures, counts, {classes} and curves"
        others = f"the main measure ({main}), {others}" if self.withholds_main else others
        why = "since exact ones would give the hidden gold away"
        held_back = f"{shown}; {others} are held back {self.until}, {why}."
        return held_back if self.setting.share is None else f"{held_back} {self._split}"

    @property
    def rounded(self) -> str:
        """Name the rounded measures with their steps; empty without any."""
        shown = [key for key in self.measures if not self.withholds(key)]
        steps = [(as_shown(self.setting, key).title, self.step(key)) for key in shown]
        named = [f"{title} to {number(100 * step, digits=1)}" for title, step in steps if step]
        by_claims = [title for title, step in steps if step is None]
        parts = [f"{listed(named)} points"] if named else []
        parts += [f"{listed(by_claims)} by the claims of each file"] if by_claims else []
        return "; ".join(parts)

    @property
    def _split(self) -> str:
        share = f"{percent(self.setting.share or 0, digits=0)} % of the hidden gold"
        if self.setting.rest_of_id is not None:
            return f"They are over the gold without the {share} that is scored while the phase is open."
        return f"They are over {share}, drawn once and the same for all teams; the rest counts at closing."

    @property
    def sentence_for_organisers(self) -> str:
        return f"You see exact figures; teams do not. {self.sentence}" if self.hidden else ""

    # ---- classes, curve, counts --------------------------------------------------------------------
    def classes(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the rows per class.

        While hidden F1 of large classes that are averaged, if the organisers chose it.
        """
        if not self.hidden:
            return rows
        if not self.setting.class_rows:
            return []
        present = {row["family"] for row in rows}
        family = CLASS_FAMILY[self.setting.kind]
        least = {
            family if family in present else "bags": self.gold.least_class,
            RELATION_CLASSES: self.gold.least_class * self.gold.relations_of_span,
        }
        averaged = {*self.gold.readings[0].classes, *self.gold.relations}
        return [
            {key: row[key] for key in ("family", "label")}
            | {"f1": rules.rounded(row["f1"], rules.CLASS_STEP)}
            for row in rows
            if row["label"] in averaged
            and row["gold"] >= least.get(row["family"], inf)
            and row["f1"] is not None
        ]

    def detail(self, detail: dict[str, Any]) -> dict[str, Any]:
        """Return counts, notes and curve.

        While hidden only those that tell nothing of the gold.
        """
        if not self.hidden:
            return detail
        counts = detail.get("counts") or {}
        # of a split, the claims left out would tell which items are in the share
        names = KEPT_COUNTS if self.setting.share is None else ("missing",)
        kept = {key: counts[key] for key in names if key in counts}
        return {"counts": kept, "curve": None, "notes": detail.get("notes", [])}
