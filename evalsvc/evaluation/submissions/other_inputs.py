"""Recognise files that answer other inputs, such as another phase's.

Only inputs that the submitter may download, and test sets that they may read, are compared: a hint tells
nothing about any other set.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import msgspec
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone

from annotation.testset import TestSet, TestSetRow
from evalsvc.core.accounts.models import User
from evalsvc.core.formats.prediction_check import Stranger
from evalsvc.core.formats.problems import Problems
from evalsvc.evaluation import roles
from evalsvc.evaluation.benchmarks import file_contract, inputs
from evalsvc.evaluation.benchmarks.file_contract import FileContract
from evalsvc.evaluation.benchmarks.inputs import InputItem
from evalsvc.evaluation.models import Setting

CODES = ("unknown_id", "token_mismatch", "missing_id", "bad_span", "wrong_shape")
MAX_OWN_SETS = 50
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


class Answers(NamedTuple):
    """The items a file answers: ids, or their number without ids."""

    strangers: Sequence[Stranger] = ()
    ids: Collection[str] | None = None
    size: int = 0


def add_hint(problems: Problems, contract: FileContract, answers: Answers, *, by: Submitter) -> None:
    """Name the inputs the file seems to answer in its first problem."""
    at = next((at for at, problem in enumerate(problems.first) if problem.code in CODES), None)
    if at is None or problems.first[at].field == "columns":
        return
    parts = [problems.first[at].hint, next(_hints(contract, answers, by), None)]
    if by.by_token:  # pages have the link beside the problem
        address = reverse("api-benchmark-inputs", args=[contract.benchmark.slug])
        parts.append(f"Inputs: {address}{f'?phase={contract.phase}' if contract.phase else ''}.")
    hint = " ".join(filter(None, parts)) or None
    problems.first[at] = msgspec.structs.replace(problems.first[at], hint=hint)


def _hints(contract: FileContract, answers: Answers, by: Submitter) -> Iterator[str]:
    """Yield a hint for each set of inputs that fits enough answers."""
    expected = {setting.pk for setting in contract.settings}
    available = _downloadable(contract, by.user)
    settings = [each for each in available if each.pk not in expected]
    if answers.strangers:
        yield from _hints_of_strangers(contract, settings, answers.strangers, by)
    phases = sorted({each.phase for each in settings if each.phase})
    together = [[each for each in available if each.phase in ("", phase)] for phase in phases]
    for group in [*([each] for each in settings), *together]:
        if _are_inputs_of(replace(contract, settings=group), answers):
            named = next(each for each in group if each in settings)
            are = "ids are exactly" if answers.ids is not None else "answers are as many as"
            yield f"The {answers.size:,} {are} the inputs of {_named(named, contract)}"


def _hints_of_strangers(
    contract: FileContract, settings: Sequence[Setting], strangers: Sequence[Stranger], by: Submitter
) -> Iterator[str]:
    own_sets = by.test_sets()
    only = {each.only_id for each in settings if each.only_id}
    known = _alike({each.test_set_id for each in settings} | {each.pk for each in own_sets} | only, strangers)
    for setting in settings:
        matching = known[setting.test_set_id]
        matching = matching & known[setting.only_id] if setting.only_id else matching
        if _is_most(matching or _pairs_of(setting, strangers), strangers):
            counted = _counted(matching or _pairs_of(setting, strangers), strangers)
            yield f"{counted} to the inputs of {_named(setting, contract)}"
    for test_set in own_sets:
        if _is_most(known[test_set.pk], strangers):
            yield f"{_counted(known[test_set.pk], strangers)} to the test set {test_set}."


def _named(setting: Setting, contract: FileContract) -> str:
    phase = f" of the {setting.phase} phase" if setting.phase else ""
    is_open = file_contract.state_at(setting, timezone.now()) == "open"
    is_other = is_open and setting.phase not in ("", contract.phase)
    return f"“{setting.title}”{phase}." + (f" Choose the phase {setting.phase}." if is_other else "")


def _are_inputs_of(inputs: FileContract, answers: Answers) -> bool:
    """Return true if a file answers all these inputs and no others."""
    if answers.ids is not None:
        return 0 < answers.size == inputs.count_items() and inputs.expected.ids.keys() == set(answers.ids)
    return answers.size > 1 and answers.size in (inputs.count_items(), len(inputs.expected.pairs))


def _pairs_of(setting: Setting, strangers: Sequence[Stranger]) -> set[str]:
    """Return the claims on pairs that a setting has."""
    claims = {each.pair: each.id for each in strangers if each.pair}
    pairs = set(inputs.expected_ids(setting).ids.values()) if claims else set()
    return {name for pair, name in claims.items() if pair in pairs}


def _downloadable(contract: FileContract, by: User) -> list[Setting]:
    """Return the settings whose inputs the person may download."""
    benchmark, now = contract.benchmark, timezone.now()
    settings = file_contract.settings_of(benchmark)
    if roles.role_in(benchmark, by) == roles.ORGANISER:
        return settings
    return [each for each in settings if file_contract.state_at(each, now) != "coming"]


def _alike(sets: set[int], strangers: Sequence[Stranger]) -> defaultdict[int, set[str]]:
    """Return the answers that fit each set, by id or tokens."""
    alike: defaultdict[int, set[str]] = defaultdict(set)
    rows = TestSetRow.objects.filter(test_set__in=sets)
    names = {each.id for each in strangers if not (each.n_tokens or each.pair)}
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
