"""Tests between systems, as a policy lets them out."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

import msgspec

from evalsvc.core.web.formatting import p_text
from evalsvc.evaluation.disclosure import rules
from evalsvc.evaluation.disclosure.policy import Policy

SIGNIFICANT = 0.05
LADDER = "the board shows figures of the Ladder, which are not tested"
WITHDRAWN = "one of the two has withdrawn runs after scoring"
SIMILAR = "one of the two has runs without figures, as they resemble other runs of the team"
ONE_TEAM = "both are of one team, which could read single labels from tests of nearly equal files"
NOT_BEST = "while the gold is hidden, of each team only the system with the best shown main figure is tested"
CHOSEN_RUNS = "while the gold is hidden, only systems that show all their runs are tested"
BY_CLAIMS = (
    "while the gold is hidden, no precision is tested, as its step of rounding depends on a file’s claims"
)
UNVARIED = "the runs of both sides do not vary beyond the step of rounding"
FEW = 20
MANY_PAIRS = "while the gold is hidden, a test over items shows no difference among so many systems of teams"
FEW_DIFFER = f"while the gold is hidden, a test over items needs {FEW} that are right for one side alone"


AS_SHOWN = "shown:"  # before the measure of tests between figures as a hidden gold lets them out


def stored_key(policy: Policy, key: str) -> str:
    """Return the key under which the tests of a measure are stored that a policy may let out.

    Tests of exact figures are for organisers, and for all once nothing is held back.
    """
    return AS_SHOWN + key if policy.hidden else key


class StoredTest(msgspec.Struct, frozen=True, array_like=True):
    """Test of a measure between the systems at two places.

    Without p there is a reason. Differences under `detectable` would mostly go unseen. A test over items
    has the number of those that are `differing`, right for one system alone; it is of the median runs. These
    `runs` are submissions, stored with exact figures alone.
    """

    a: int
    b: int
    test: str
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    p_holm: float | None = None
    d: float | None = None
    word: str | None = None
    detectable: float | None = None
    reason: str | None = None
    differing: int | None = None
    runs: tuple[int, int] | None = None

    def between(self, a: int, b: int) -> StoredTest:
        """Return the same test at other places, of B − A where these are turned."""
        if a < b:
            return msgspec.structs.replace(self, a=a, b=b)
        difference, low, high, d = (
            None if x is None else -x for x in (self.difference, self.high, self.low, self.d)
        )
        turned = msgspec.structs.replace(self, a=b, b=a, difference=difference, low=low, high=high, d=d)
        return msgspec.structs.replace(turned, runs=_turned(self.runs))


@dataclass(frozen=True)
class ShownTest:
    """Test as it leaves; p as a number only while nothing is held back.

    `winner` is the place of the system that is ahead by the test. A test over items is of two `runs`, whose
    submissions are named while nothing is held back.
    """

    a: int
    b: int
    test: str
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    p_holm: float | None
    p_text: str
    p_holm_text: str
    d: float | None
    word: str
    detectable: float | None
    reason: str
    winner: int | None
    runs: tuple[int, int] | None = None

    @property
    def is_over_items(self) -> bool:
        """True for a test of one run of each side."""
        return bool(self.test) and not self.test.endswith("runs")

    @property
    def greatest_p_holm(self) -> float:
        """Adjusted p, the greatest of its range where that alone is shown."""
        return rules.greatest_of(self.p_holm_text) if self.p_holm is None else self.p_holm

    def turned(self) -> ShownTest:
        """Return the same test of B − A."""
        difference, low, high, d = (
            None if x is None else -x for x in (self.difference, self.high, self.low, self.d)
        )
        turned = replace(self, a=self.b, b=self.a, difference=difference, low=low, high=high, d=d)
        return replace(turned, runs=_turned(self.runs))


def _turned(runs: tuple[int, int] | None) -> tuple[int, int] | None:
    return runs and (runs[1], runs[0])


def adjusted_if_let_out(
    tests: Collection[StoredTest],
    withheld: Callable[[StoredTest], str],
    chosen_from: Callable[[StoredTest], int],
) -> list[StoredTest]:
    """Adjust p after Holm over the tests that are let out; the others lose theirs.

    Each is the test of one pair `chosen_from` so many, of the best systems of two teams: its p is multiplied
    by their number first, so that teams make only their own tests stricter. Adjusted over all tests, p would
    tell where those of withheld pairs stand. Over items the greatest p of the range shown is adjusted: by the
    number of pairs, which readers choose, they would learn as many further bounds. Where even the least range
    would show no difference there is no test, whatever p.
    """
    p_of = {
        test: test.p if test.differing is None else rules.greatest_p(test.p)
        for test in tests
        if test.p is not None and not _few_differ(test) and not withheld(test)
    }
    least, reasons = rules.greatest_p(0), dict[StoredTest, str]()
    for test in p_of:
        if test.differing is not None and least * chosen_from(test) * len(p_of) >= SIGNIFICANT:
            reasons[test] = MANY_PAIRS
    p_of = {test: p for test, p in p_of.items() if test not in reasons}
    of_teams = {test: min(1.0, p * chosen_from(test)) for test, p in p_of.items()}
    holm, highest = dict[StoredTest, float](), 0.0
    for before, (test, p) in enumerate(sorted(of_teams.items(), key=lambda each: each[1])):
        highest = max(highest, min(1.0, p * (len(of_teams) - before)))
        holm[test] = highest
    return [
        msgspec.structs.replace(
            test, p=p_of.get(test), p_holm=holm.get(test), reason=reasons.get(test, test.reason)
        )
        for test in tests
    ]


def shown_test(
    policy: Policy,
    key: str,
    stored: StoredTest,
    *,
    difference: float | None,
    higher_is_better: bool,
    withheld: str,
) -> ShownTest:
    """Round a test to the step of its measure, or withhold it.

    `difference` is that of the figures shown, which a hidden gold lets out; over items it is that of the runs
    tested, as shown. `withheld` is the reason why the pair is not tested by the measure, if there is one.
    """
    step = policy.step(key) if policy.hidden else None
    few_differ = _few_differ(stored) if policy.hidden else ""
    if reason := withheld or few_differ:
        return untested(stored.a, stored.b, difference, reason)
    if stored.p is None or stored.p_holm is None:
        exact = stored.difference if not policy.hidden else difference
        shown = difference if exact is None else exact
        return untested(stored.a, stored.b, shown, stored.reason or "")
    winner = winner_exactly(stored, higher_is_better=higher_is_better)
    if step is None:
        return ShownTest(
            stored.a, stored.b, stored.test, stored.difference, stored.low, stored.high,
            stored.p, stored.p_holm, p_text(stored.p), p_text(stored.p_holm),
            stored.d, stored.word or "", stored.detectable, "", winner, stored.runs,
        )  # fmt: skip
    if stored.differing is not None:
        difference = stored.difference
    ends: tuple[float | None, float | None] = (None, None)
    if stored.low is not None and stored.high is not None and difference is not None:
        ends = rules.around(difference, stored.low, stored.high, step)
    detectable = None if stored.detectable is None else rules.at_least(stored.detectable, step)
    return ShownTest(
        stored.a, stored.b, stored.test, difference, *ends,
        None, None, rules.p_range(stored.p), rules.p_range(stored.p_holm),
        None, "", detectable, "", winner,
    )  # fmt: skip


def _few_differ(test: StoredTest) -> str:
    """Return why a test over few items is withheld: its p would count them."""
    return FEW_DIFFER if test.differing is not None and test.differing < FEW else ""


def withheld(policy: Policy, key: str) -> str:
    """Return why no test of a measure is let out, or nothing."""
    if not policy.hidden:
        return ""
    if policy.setting.ladder:
        return LADDER
    if policy.step(key) is not None:
        return ""
    return policy.withheld if policy.withholds(key) else BY_CLAIMS


def winner_exactly(stored: StoredTest, *, higher_is_better: bool) -> int | None:
    """Return the place of the system ahead by a test, whatever a policy lets out."""
    if stored.p_holm is None or stored.p_holm >= SIGNIFICANT or not stored.difference:
        return None
    return stored.a if (stored.difference > 0) == higher_is_better else stored.b


def untested(a: int, b: int, difference: float | None, reason: str) -> ShownTest:
    """Return a pair without a test, and the reason."""
    return ShownTest(a, b, "", difference, None, None, None, None, "", "", None, "", None, reason, None)
