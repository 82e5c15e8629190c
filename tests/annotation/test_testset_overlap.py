"""Sets of one origin may share gold lines, but for parts of one and the same split."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from annotation.models import Publication
from annotation.releases import publishing
from annotation.testset import TestSet
from annotation.testset_overlap import overlapping, published_gold
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import Conflict
from evalsvc.evaluation.benchmarks import creation
from tests.cast.basics import person
from tests.cast.benchmarks import LABELS
from tests.errors import code


@pytest.fixture
def by(db: None) -> User:
    return person("olga", may_organise=True)


def made(slug: str, by: User, *, twin: TestSet | None = None, **manifest: Any) -> TestSet:
    return TestSet.objects.create(
        slug=slug,
        name=slug,
        version="1",
        kind="relations",
        origin="source" if twin else "imported",
        labels=[{"name": name, "title": name} for name in LABELS],
        twin=twin,
        manifest=manifest,
        statistics={},
        sha256=hashlib.sha256(slug.encode()).hexdigest(),
        state=TestSet.State.FROZEN,
        by=by,
    )


def split(of: TestSet, by: User, *, seed: str = "s", parts: str = "ab") -> list[TestSet]:
    """Parts as a split makes them: with all that the manifest of the whole states."""
    plan = {"of": of.slug, "seed": seed, "shares": dict.fromkeys(parts, 0.5)}
    return [made(f"{of.slug}-{part}", by, **of.manifest | {"split": plan | {"part": part}}) for part in parts]


def mapped(slug: str, by: User, *sets: TestSet) -> TestSet:
    return made(slug, by, mapped={"of": [{"slug": each.slug} for each in sets], "names": {}})


def test_sets_overlap_where_a_line_of_their_origin_may_be_in_both(by: User) -> None:
    whole, beside, other = (made(slug, by) for slug in ("whole", "beside", "other"))
    a, b = split(whole, by)
    c, d = split(whole, by, seed="t", parts="cd")
    a_e, a_f = split(a, by, parts="ef")
    b_renamed = mapped("b-renamed", by, b)
    both = mapped("both", by, whole, beside)
    both_a, both_b = split(both, by)
    twice = mapped("twice", by, a, b)
    others = {whole, a, b, c, d, a_e, a_f, b_renamed, both, both_a, both_b, twice}
    expected = {
        whole: others,
        a: others - {b, b_renamed},
        c: others - {d},
        a_e: others - {b, b_renamed, a_f},
        b_renamed: others - {a, a_e, a_f},
        both_a: others - {both_b} | {beside},
        beside: {beside, both, both_a, both_b},
        other: {other},
    }
    for test_set, sets in expected.items():
        assert {each.slug for each in overlapping([test_set])} == {each.slug for each in sets}, test_set
    assert {each.slug for each in overlapping([other, beside])} == {
        "other",
        "beside",
        "both",
        "both-a",
        "both-b",
    }


def test_source_labels_overlap_with_source_labels(by: User) -> None:
    whole = made("whole", by)
    parts = split(whole, by)
    for each in (whole, *parts):
        made(f"{each.slug}-source", by, twin=each, **each.manifest)
    found = overlapping([TestSet.objects.get(slug="whole-a-source")])
    assert {each.slug for each in found} == {"whole-a-source", "whole-source"}


def test_gold_is_public_or_hidden_with_all_that_may_share_lines_with_it(by: User) -> None:
    """Everybody read hidden gold in two parts of another split of the same set."""
    whole = made("whole", by)
    [hidden, _], [cousin, _] = split(whole, by), split(whole, by, seed="t", parts="cd")
    labels = [{"name": name} for name in LABELS]
    board = creation.create(title="Own", slug="own", task="relations", labels=labels, negative="N/A", by=by)
    values = {"test_set": hidden, "unit": "sentence", "main": "accuracy", "title": "Main", "by": by}
    publication = Publication.objects.create(test_set=cousin, access="anybody", with_gold=True, by=by)
    with pytest.raises(Conflict, match="whole-c 1 is published and may have lines of whole-a 1"):
        creation.add_setting(board, key="main", phase="test", **values)
    assert published_gold([hidden]) == [cousin]
    publication.delete()
    creation.add_setting(board, key="main", phase="test", **values)
    with pytest.raises(Conflict, check=code("gold_hidden")):
        publishing.publish(cousin, access="anybody", with_gold=True, by=by)
