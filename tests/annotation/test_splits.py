"""Splits without shared pairs or sentences, and what training data share with a test set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from annotation.releases import publishing
from annotation.releases.check import check
from annotation.releases.checksums import open_folder
from annotation.releases.folder import files as release_files
from annotation.releases.folder import write_folder
from annotation.splits import making
from annotation.splits.items import SEPARATOR, SplitItem, normalised, split_item
from annotation.splits.leakage import leakage
from annotation.splits.making import Plan
from annotation.splits.splitting import Unit, groups, split, uniform, worst_deviation
from annotation.testset import TestSet, read_rows
from evalsvc.core.errors.exceptions import Conflict, DomainError
from evalsvc.core.formats.records import ItemLine
from tests.cast.basics import run_job
from tests.cast.service import ServiceCast

HALVES = {"left": 0.5, "right": 0.5}


def item(name: str, head: str, tail: str, *relations: str, text: str = "") -> SplitItem:
    return SplitItem(name, normalised(text or f"sentence {name}"), head, tail, relations, (head, tail))


def test_any_number_of_marks_on_a_letter_is_compared_as_it_is() -> None:
    """Putting a million marks in their order takes an hour, of which the web does nothing else."""
    marked = "a" + "\u0315" * 500_000 + "\u0316" * 500_000
    assert normalised(f"A\u030a  {marked}") == f"å {marked}"


def chain(n: int) -> list[SplitItem]:
    """Each sentence has two pairs, each pair two sentences: all of it is one component."""
    return [item(f"i{at}", f"e{at // 2}", "x", "r", text=f"text {(at + 1) // 2}") for at in range(n)]


def many(n: int = 400) -> list[SplitItem]:
    """A rare relation, a frequent one, and items without any."""
    return [
        item(f"i{at}", f"e{at // 2}", "x", *(["rare"] if at % 20 == 0 else ["often"] if at % 3 else []))
        for at in range(n)
    ]


def test_a_draw_depends_on_seed_and_key_alone() -> None:
    # reference: entity pairs of NYT10
    assert uniform("split-1", SEPARATOR.join(["m.0qrh9", "m.0xq4r"])) == 0.8875490187077275
    assert uniform("split-1", SEPARATOR.join(["m.07wwdt", "m.0dhtz3"])) == 0.6693901992590945
    assert item("a", "m.0xq4r", "m.0qrh9").pair == item("b", "m.0qrh9", "m.0xq4r").pair


def test_groups_are_pairs_sentences_or_what_shares_either() -> None:
    items = chain(6)
    assert len(set(groups(items, Unit.PAIR))) == 3
    assert len(set(groups(items, Unit.SENTENCE))) == 4
    assert set(groups(items, Unit.NEITHER)) == {items[0].pair}  # the least pair names the component
    apart = [*items, item("other", "y", "z")]
    assert len(set(groups(apart, Unit.NEITHER))) == 2


@pytest.mark.parametrize("unit", list(Unit))
@pytest.mark.parametrize("stratified", [False, True])
def test_parts_share_nothing_of_their_unit_in_any_order(unit: Unit, stratified: bool) -> None:
    items = many()
    parts = split(items, HALVES, seed="s", unit=unit, stratified=stratified)
    of_group: dict[str, set[str]] = {}
    for key, part in zip(groups(items, unit), parts, strict=True):
        of_group.setdefault(key, set()).add(part)
    assert {len(each) for each in of_group.values()} == {1}
    assert set(parts) == set(HALVES)
    turned = split(items[::-1], HALVES, seed="s", unit=unit, stratified=stratified)
    assert turned[::-1] == parts
    assert split(items, HALVES, seed="t", unit=unit, stratified=stratified) != parts


def test_a_stratified_split_gives_each_part_its_share_of_a_rare_relation() -> None:
    items = many()
    parts = split(items, HALVES, seed="s", stratified=True)
    rare = [part for each, part in zip(items, parts, strict=True) if "rare" in each.relations]
    assert rare.count("left") == rare.count("right") == 10
    plain = split(items, HALVES, seed="s")
    assert worst_deviation(items, parts, HALVES) < worst_deviation(items, plain, HALVES)
    assert worst_deviation(items, plain, HALVES, least=100) < worst_deviation(items, plain, HALVES)


def test_leakage_counts_distinct_things_and_the_items_that_have_them() -> None:
    train = [item("a", "e1", "e2", "r", text="The  Day"), item("b", "e3", "e4")]
    test = [
        item("c", "e2", "e1", "r", text="the day"),
        item("d", "e1", "e2", "r"),
        item("e", "e5", "e6", "q"),
    ]
    found = {row.key: (row.train, row.test, row.shared, row.test_items) for row in leakage(train, test)}
    assert found == {
        "pairs_ordered": (2, 3, 1, 1),
        "pairs": (2, 2, 1, 2),
        "facts": (1, 3, 1, 1),
        "sentences": (2, 3, 1, 1),
        "entities": (4, 4, 2, 2),
    }
    assert [row.share_of_test for row in leakage(train, [])] == [None] * 5


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ("dev=0.5", "1 parts"),
        ("dev=0.5,test=0.6", "sum to 1"),
        ("dev=x,test=1", "not a number"),
        ("dev=nan,test=nan", "sum to 1"),
        ("dev=0.5,dev=0.5", "occurs twice"),
        ("a b=0.5,test=0.5", "not a valid name"),
    ],
)
def test_an_invalid_split_says_what_is_wrong(parts: str, message: str) -> None:
    with pytest.raises(DomainError, match=message):
        Plan.of(parts=parts, seed="s")
    with pytest.raises(DomainError, match="seed"):
        Plan.of(parts="dev=0.5,test=0.5", seed="")


def upload(content: bytes) -> SimpleUploadedFile:
    return SimpleUploadedFile("train.jsonl", content)


# ---- test sets -----------------------------------------------------------------------------------
@pytest.fixture
def whole(db: None) -> TestSet:
    return ServiceCast.create().test_set


def made(whole: TestSet, **options: Any) -> list[TestSet]:
    plan = Plan.of(parts="dev=0.5,test=0.5", seed=options.pop("seed", "split-1"), **options)
    parts = making.make(whole, plan, by=whole.by)
    for part in parts:
        run_job(making.KIND, part.pk)
        part.refresh_from_db()
    return parts


def test_parts_are_test_sets_with_the_lines_and_the_provenance_of_the_whole(
    whole: TestSet, tmp_path: Path
) -> None:
    parts = made(whole, keep_together="sentence", seed="split-0")
    assert [str(part) for part in parts] == [
        f"{whole.name} {name} {whole.version}" for name in ("dev", "test")
    ]
    assert {part.state for part in parts} == {TestSet.State.FROZEN}
    lines = [line for part in parts for line in read_rows(part)]
    assert sorted(lines, key=lambda line: line["id"]) == sorted(read_rows(whole), key=lambda line: line["id"])
    assert parts[0].manifest["split"]["of"] == whole.slug
    for part in parts:
        run_job("describe", part.pk)
        part.refresh_from_db()
        write_folder(part, tmp_path / part.slug, with_gold=True)
        assert check(open_folder(tmp_path / part.slug)).is_intact
    twins = TestSet.objects.filter(twin__in=parts)
    assert {twin.state for twin in twins} <= {TestSet.State.FROZEN}


def test_gold_is_not_published_while_a_part_of_it_is_hidden_and_other_parts_are(
    whole: TestSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    dev, test = made(whole, keep_together="sentence", seed="split-0")
    TestSet.objects.filter(pk__in=(whole.pk, dev.pk)).update(statistics={})
    monkeypatch.setattr(publishing, "count_hiding", lambda test_set: int(test_set.pk == test.pk))
    with pytest.raises(Conflict, match=f"hidden phases use {test}"):
        publishing.publish(TestSet.objects.get(pk=whole.pk), access="anybody", with_gold=True, by=whole.by)
    dev.refresh_from_db()
    assert publishing.publish(dev, access="anybody", with_gold=True, by=whole.by).with_gold
    files = {each.name: b"".join(each.parts()).decode() for each in release_files(dev)}
    # nor do digest and seed of the whole, which would tell labels of the other part
    assert not [name for name, text in files.items() if whole.sha256[:12] in text]
    monkeypatch.setattr(publishing, "count_hiding", lambda test_set: int(test_set.pk == whole.pk))
    with pytest.raises(Conflict, match=f"hidden phases use {whole}"):
        publishing.publish(dev, access="anybody", with_gold=True, by=whole.by)


def test_the_same_split_twice_is_refused_by_its_name(whole: TestSet) -> None:
    made(whole)
    with pytest.raises(Conflict, match="already exists"):
        made(whole)


def test_an_empty_part_fails_with_its_reason(whole: TestSet) -> None:
    parts = made(whole, keep_together="sentence", seed="split-2")
    assert [part.state for part in parts] == [TestSet.State.FROZEN, TestSet.State.FAILED]
    assert parts[1].reason == "No sentence falls into test: choose other shares."


def test_a_curator_previews_and_makes_a_split_on_the_page(client: Client, whole: TestSet) -> None:
    client.force_login(whole.by)
    url = reverse("test-set-split", args=[whole.slug])
    values = {"parts": "dev=0.5,test=0.5", "seed": "split-0", "keep_together": "neither"}
    page = client.post(url, values | {"action": "preview"}).content.decode()
    assert "Shared by dev and test" in page
    assert TestSet.objects.filter(name__endswith=" dev").count() == 0
    assert "sum to 1" in client.post(url, values | {"parts": "dev=0.5,test=0.4"}).content.decode()
    assert client.post(url, values | {"action": "make"}).status_code == 302
    assert TestSet.objects.filter(name__endswith=" dev").exists()
    again = client.post(url, values | {"action": "make"}).content.decode()
    assert "already exists" in again


def test_training_data_are_compared_on_the_page_and_by_api(client: Client, whole: TestSet) -> None:
    client.force_login(whole.by)
    gold = b"".join(json.dumps(line).encode() + b"\n" for line in read_rows(whole))
    page = client.post(reverse("test-set-leakage", args=[whole.slug]), {"file": upload(gold)})
    assert "100.0" in page.content.decode()
    broken = client.post(
        reverse("test-set-leakage", args=[whole.slug]), {"file": upload(b'{"id": "a", "text": 3}\n')}
    )
    assert "Line 1" in broken.content.decode()
    url = f"/api/v1/test-sets/{whole.slug}/leakage"
    rows = client.post(url, {"file": upload(gold)}).json()["shared"]
    assert {row["key"]: row["share_of_test"] for row in rows}["sentences"] == 1.0
    without = [line | {"relations": ["NA"]} for line in read_rows(whole)]
    rows = client.post(
        url, {"file": upload(b"".join(json.dumps(row).encode() + b"\n" for row in without))}
    ).json()
    assert {row["key"]: row["train"] for row in rows["shared"]}["facts"] == 0  # NA is no fact
    assert client.post(url, {"file": upload(b"\x00\xff")}).status_code == 422
    by_command = client.post(url, {"file": upload(b"PAR1")}).json()
    assert (by_command["code"], f"leakage {whole.slug} FILE" in by_command["hint"]) == ("bad_format", True)


@pytest.mark.parametrize("bound", ["MOST_LINES_IN_WEB", "MOST_CHARACTERS_IN_WEB"])
def test_requests_read_no_long_set_and_split_it_by_a_job(
    client: Client, whole: TestSet, monkeypatch: pytest.MonkeyPatch, bound: str
) -> None:
    monkeypatch.setattr(making, bound, 1)
    client.force_login(whole.by)
    url, body = f"/api/v1/test-sets/{whole.slug}/", {"parts": "dev=0.5,test=0.5", "seed": "split-0"}
    assert client.post(f"{url}leakage", {"file": upload(b"{}")}).status_code == 413
    assert client.post(f"{url}split", body | {"preview": True}, "application/json").status_code == 413
    page = reverse("test-set-split", args=[whole.slug])
    values = body | {"keep_together": "neither", "action": "preview"}
    assert "manage.py split --preview" in client.post(page, values).content.decode()
    found = client.post(f"{url}split", body, "application/json")
    assert (found.status_code, found.json()["worst"]) == (202, None)


def test_the_api_previews_and_splits(client: Client, whole: TestSet) -> None:
    client.force_login(whole.by)
    url, body = f"/api/v1/test-sets/{whole.slug}/split", {"parts": "dev=0.5,test=0.5", "seed": "split-0"}
    shown = client.post(url, body | {"preview": True}, content_type="application/json")
    assert (shown.status_code, shown.json()["parts"][0]["slug"]) == (200, None)
    made_ = client.post(url, body, content_type="application/json")
    assert made_.status_code == 202
    assert [part["name"] for part in made_.json()["parts"]] == ["dev", "test"]
    assert client.get(f"/api/v1/test-sets/{made_.json()['parts'][0]['slug']}").status_code == 200


def test_commands_split_a_set_and_compare_a_file_with_it(
    whole: TestSet, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    by = ("--by", whole.by.username)
    words = ("--parts", "dev=0.5,test=0.5", "--seed", "split-0", "--keep-together", "sentence", *by)
    call_command("split", whole.slug, *words, "--preview")
    assert "dev and test share: 0 entity pairs" in capsys.readouterr().out
    call_command("split", whole.slug, *words)
    assert "1 lines" in capsys.readouterr().out
    file = tmp_path / "train.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in read_rows(whole)))
    call_command("leakage", whole.slug, str(file), *by)
    assert "shared 2 (100.0 %), in 2 test items" in capsys.readouterr().out


def test_entities_that_cover_a_long_text_many_times_keep_no_copies_of_it() -> None:
    text = "a b " * 1_000
    spans = [(0, at, "person") for at in range(3_000, 3_020)]
    long, short = (split_item(ItemLine("d", text=text, spans=each)) for each in (spans, [(0, 3, "person")]))
    assert len(set(long.entities)) == 20
    assert sum(map(len, long.entities)) <= 20 * 32
    assert short.entities == ("a b",)
    assert split_item(ItemLine("e", text=text, spans=spans)).entities == long.entities
