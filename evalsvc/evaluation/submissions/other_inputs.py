"""Recognise files that answer other inputs, such as another phase's.

Only inputs that the submitter may download, and test sets that they may read, are compared: a hint tells
nothing about any other set.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone

from annotation.testset import TestSet, TestSetRow
from evalsvc.core.accounts.models import User
from evalsvc.core.formats.prediction_check import Stranger
from evalsvc.core.formats.problems import Problems
from evalsvc.evaluation import roles
from evalsvc.evaluation.benchmarks import file_contract
from evalsvc.evaluation.benchmarks.file_contract import FileContract, InputItem
from evalsvc.evaluation.models import Setting

CODES = ("unknown_id", "token_mismatch", "missing_id")
MAX_OWN_SETS, MAX_ADDRESSES = 50, 3
LEAST_SHARE = 0.5
LEAST_ALIKE = 2  # one sentence may have the length of another by chance


@dataclass(frozen=True, slots=True)
class Submitter:
    """The person or token that submits; tokens read no test sets."""

    user: User
    by_token: bool = False

    def test_sets(self) -> list[TestSet]:
        """Return the sets whose gold the submitter may read, the newest first."""
        if self.by_token:
            return []
        return list(TestSet.objects.usable_by(self.user).order_by("-pk")[:MAX_OWN_SETS])


def add_hint(
    problems: Problems, contract: FileContract, strangers: Sequence[Stranger], *, by: Submitter
) -> None:
    """Name the inputs the file seems to answer in its first problem."""
    at = next((at for at, problem in enumerate(problems.first) if problem.code in CODES), None)
    if at is None:
        return
    parts = [problems.first[at].hint, next(_hints(contract, strangers, by), None) if strangers else None]
    if by.by_token:  # pages have the link beside the problem
        addresses = [
            reverse("api-inputs", args=[contract.benchmark.slug, each.key]) for each in contract.settings
        ]
        parts.append(f"Inputs: {', '.join(addresses[:MAX_ADDRESSES])}.")
    hint = " ".join(filter(None, parts)) or None
    problems.first[at] = msgspec.structs.replace(problems.first[at], hint=hint)


def _hints(contract: FileContract, strangers: Sequence[Stranger], by: Submitter) -> Iterator[str]:
    """Yield a hint for each set of inputs that most answers fit."""
    expected = {setting.pk for setting in contract.settings}
    settings = [each for each in _downloadable(contract, by.user) if each.pk not in expected]
    own_sets = by.test_sets()
    only = {each.only_id for each in settings if each.only_id}
    known = _alike({each.test_set_id for each in settings} | {each.pk for each in own_sets} | only, strangers)
    for setting in settings:
        matching = known[setting.test_set_id]
        matching = matching & known[setting.only_id] if setting.only_id else matching
        if _is_most(matching, strangers):
            phase = f" of the {setting.phase} phase" if setting.phase else ""
            choose = f" Choose the phase {setting.phase}." if _is_open(setting, contract) else ""
            yield f"{_counted(matching, strangers)} to the inputs of “{setting.title}”{phase}.{choose}"
    for test_set in own_sets:
        if _is_most(known[test_set.pk], strangers):
            yield f"{_counted(known[test_set.pk], strangers)} to the test set {test_set}."


def _downloadable(contract: FileContract, by: User) -> list[Setting]:
    """Return the settings whose inputs the person may download."""
    benchmark, now = contract.benchmark, timezone.now()
    settings = file_contract.settings_of(benchmark)
    if roles.role_in(benchmark, by) == roles.ORGANISER:
        return settings
    return [each for each in settings if file_contract.state_at(each, now) != "coming"]


def _is_open(setting: Setting, contract: FileContract) -> bool:
    is_open = file_contract.state_at(setting, timezone.now()) == "open"
    return is_open and setting.phase not in ("", contract.phase)


def _alike(sets: set[int], strangers: Sequence[Stranger]) -> defaultdict[int, set[str]]:
    """Return the answers that fit each set, by id or tokens."""
    alike: defaultdict[int, set[str]] = defaultdict(set)
    rows = TestSetRow.objects.filter(test_set__in=sets)
    names = {each.id for each in strangers if not each.n_tokens}
    for test_set, name in rows.filter(external_id__in=names).values_list("test_set", "external_id"):
        alike[test_set].add(name)
    tagged = {each.place: each for each in strangers if each.n_tokens}
    places = Q(number__in=[place + 1 for place in tagged]) if tagged else Q(pk=None)
    for test_set, number, line in rows.filter(places).values_list("test_set", "number", "line"):
        stranger = tagged[number - 1]
        if _fits(msgspec.json.decode(line, type=InputItem), stranger):
            alike[test_set].add(stranger.id)
    return alike


def _fits(item: InputItem, stranger: Stranger) -> bool:
    if stranger.tokens is not None:
        return item.tokens == stranger.tokens
    return item.tokens is not None and len(item.tokens) == stranger.n_tokens


def _is_most(matching: set[str], strangers: Sequence[Stranger]) -> bool:
    certain = any(each.tokens is not None or not each.n_tokens for each in strangers)
    return len(matching) >= (1 if certain else LEAST_ALIKE) and len(matching) >= LEAST_SHARE * len(strangers)


def _counted(matching: set[str], strangers: Sequence[Any]) -> str:
    return f"{len(matching):,} of the first {len(strangers):,} answers that do not fit belong"
