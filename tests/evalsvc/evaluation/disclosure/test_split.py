"""A split setting: a share of the gold is scored while it is open, the rest when it closes."""

from __future__ import annotations

import hashlib
import html
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from evalsvc.core.errors.exceptions import DomainError
from evalsvc.evaluation.benchmarks import creation
from evalsvc.evaluation.benchmarks.inputs import count_items, ids_of_part
from evalsvc.evaluation.disclosure.gold_counts import of_version
from evalsvc.evaluation.disclosure.ledger import Ledger
from evalsvc.evaluation.disclosure.split import Part, draw, key_of, part_of
from evalsvc.evaluation.models import Benchmark, Setting, Submission
from tests.cast.benchmarks import BenchmarkCast, freeze
from tests.evalsvc.evaluation.disclosure.phase import gold_labels, gold_lines, hidden_phase, scored, wrong

GOLD = gold_labels(400)


def split_phase(cast: BenchmarkCast, *, share: float = 0.3, **fields: Any) -> Benchmark:
    closes_at = timezone.now() + timedelta(days=1)
    return hidden_phase(cast, GOLD, **{"share": share, "closes_at": closes_at} | fields)


def both(benchmark: Benchmark) -> tuple[Setting, Setting]:
    first, rest = benchmark.settings.all()
    return first, rest


def ids(setting: Setting) -> frozenset[str]:
    part = part_of(setting)
    assert part
    return ids_of_part(setting, setting.unit, part)


def close(benchmark: Benchmark) -> None:
    benchmark.settings.update(closes_at=timezone.now() - timedelta(minutes=1))


def evaluations(client: Client, submission: Submission) -> dict[str, dict[str, Any]]:
    body = client.get(reverse("api-scores", args=[submission.pk])).json()
    return {each["setting"]: each for each in body["evaluations"]}


@pytest.mark.parametrize(
    ("pair", "expected"),
    [(("m.0qrh9", "m.0xq4r"), 0.8875490187077275), (("m.0dhtz3", "m.07wwdt"), 0.6693901992590945)],
)
def test_a_draw_depends_on_seed_and_key_alone(pair: tuple[str, str], expected: float) -> None:
    assert draw("split-1", key_of("bag", "s1", pair)) == expected


def test_sentences_are_drawn_by_id_and_bags_by_pair_in_either_order() -> None:
    assert key_of("sentence", "s1", ("b", "a")) == "s1"
    assert key_of("bag", "s1", ("b", "a")) == key_of("bag", "s2", ("a", "b"))


def test_share_and_rest_have_each_item_once(cast: BenchmarkCast) -> None:
    first, rest = both(split_phase(cast))
    assert ids(first) | ids(rest) == GOLD.keys()
    assert not ids(first) & ids(rest)
    assert 0.2 < len(ids(first)) / len(GOLD) < 0.4
    assert (count_items(first), count_items(rest)) == (len(ids(first)), len(ids(rest)))
    assert (rest.key, rest.title, rest.sealed) == ("test-rest", "Test, rest", True)


@pytest.mark.parametrize("unit", ["sentence", "bag"])
def test_figures_and_their_steps_are_those_of_the_share(cast: BenchmarkCast, unit: str) -> None:
    benchmark = split_phase(cast, unit=unit)
    first, rest = both(benchmark)
    answers = GOLD | dict.fromkeys(ids(rest), "N/A")
    submission = scored(cast, benchmark, answers)
    values = {
        each.setting: each.scores.get(measure="micro_f1").value for each in submission.evaluations.all()
    }
    assert values == {first: 1.0, rest: 0.0}
    counts = Counter(label for name, label in GOLD.items() if name in ids(first) and label != "N/A")
    assert of_version(first).present == counts


def test_a_team_sees_the_share_while_open_and_the_rest_at_closing(
    client: Client, cast: BenchmarkCast
) -> None:
    benchmark = split_phase(cast)
    submission = scored(cast, benchmark, wrong(GOLD, 0.3))
    client.force_login(cast.kim)
    shown = evaluations(client, submission)
    assert shown.keys() == {"test"}
    assert shown["test"]["detail"]["counts"].keys() == {"missing"}
    assert "30 % of the hidden gold, drawn once and the same for all teams" in shown["test"]["held_back"]
    board = client.get(reverse("board", args=["hid"])).content.decode()
    assert "the rest counts at closing" in board
    assert "final figures" not in board
    close(benchmark)
    shown = evaluations(client, submission)
    assert "final figures under “Test, rest”" in client.get(reverse("board", args=["hid"])).content.decode()
    assert shown.keys() == {"test", "test-rest"}
    assert len(shown["test-rest"]["scores"]) > 20
    assert client.get(reverse("api-board", args=["hid"]), {"setting": "test-rest"}).json()["rows"]


def test_a_near_duplicate_under_the_rest_is_not_named_while_it_is_sealed(
    client: Client, cast: BenchmarkCast
) -> None:
    benchmark = split_phase(cast, default_quotas=False)
    _, rest = both(benchmark)
    answers = wrong(GOLD, 0.3)
    scored(cast, benchmark, answers)
    again = scored(cast, benchmark, answers | {min(ids(rest)): "N/A"}, run="2")
    client.force_login(cast.kim)
    page = client.get(reverse("submission", args=[again.pk])).content.decode()
    assert "Under “Test”, teams see the figures of an earlier run." in page


def test_the_seed_is_secret_until_closing_and_fixed_by_its_digest(
    client: Client, cast: BenchmarkCast
) -> None:
    benchmark = split_phase(cast)
    first, rest = both(benchmark)
    digest = hashlib.sha256(first.share_seed.encode()).hexdigest()
    client.force_login(cast.kim)
    pages = [reverse("board", args=["hid"]), reverse("setting", args=["hid", "test-rest"])]
    api = reverse("api-benchmark", args=["hid"])
    splits = [each["split"] for each in client.get(api).json()["settings"]]
    shown = {"share": 0.3, "seed_sha256": digest, "seed": ""}
    assert splits == [shown | {"rest": False}, shown | {"rest": True}]
    texts = [client.get(url).content.decode() for url in (*pages, api)]
    assert not [text for text in texts if first.share_seed in text]
    assert all(digest[:12] in text for text in texts)
    close(benchmark)
    assert all(first.share_seed in client.get(url).content.decode() for url in pages)
    assert client.get(api).json()["settings"][1]["split"]["seed"] == rest.share_seed


def test_a_new_gold_version_keeps_the_draw_and_reaches_the_rest(cast: BenchmarkCast) -> None:
    benchmark = split_phase(cast)
    first, rest = both(benchmark)
    before = ids(first)
    more = freeze("more", gold_lines(GOLD | gold_labels(450)), by=cast.olga)
    creation.revise_setting(first, test_set=more, by=cast.olga)
    first, rest = both(benchmark)
    assert (first.version, rest.version, rest.test_set) == (2, 2, more)
    assert ids(first) & GOLD.keys() == before


def test_the_rest_follows_the_share(cast: BenchmarkCast) -> None:
    first, rest = both(split_phase(cast))
    later = timezone.now() + timedelta(days=9)
    creation.change_setting(first, by=cast.olga, closes_at=later, main="macro_f1", title="Trial")
    rest.refresh_from_db()
    assert (rest.closes_at, rest.main, rest.title, rest.sealed) == (later, "macro_f1", "Test, rest", True)
    creation.change_setting(rest, by=cast.olga, title="Final")
    for change in ({"closes_at": later}, {"sealed": False}):
        with pytest.raises(DomainError, match="“Final” follows “Trial”"):
            creation.change_setting(rest, by=cast.olga, **change)
    with pytest.raises(DomainError, match="follows"):
        creation.revise_setting(rest, test_set=rest.test_set, by=cast.olga)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [({"closes_at": None}, "Enter a closing time"), ({"share": 0.01}, "Use 0.05 to 0.95")],
)
def test_a_split_needs_a_closing_time_and_two_parts(
    cast: BenchmarkCast, fields: dict[str, Any], expected: str
) -> None:
    with pytest.raises(DomainError, match=expected):
        split_phase(cast, **fields)


def test_the_closing_time_of_a_split_cannot_be_removed(cast: BenchmarkCast) -> None:
    first, _ = both(split_phase(cast))
    with pytest.raises(DomainError, match="Enter a closing time"):
        creation.change_setting(first, by=cast.olga, closes_at=None)


def test_page_and_api_make_a_split(client: Client, cast: BenchmarkCast) -> None:
    benchmark = cast.benchmark("made")
    freeze("g", gold_lines(GOLD), by=cast.olga)
    client.force_login(cast.olga)
    closes_at = (timezone.now() + timedelta(days=1)).strftime("%Y-%m-%dT%H:%M")
    fields = {"title": "Test", "key": "page", "unit": "sentence", "main": "micro_f1", "closes_at": closes_at}
    test_set = benchmark.settings.model._meta.get_field("test_set").related_model.objects.get(slug="g")
    page = client.post(
        reverse("setting-new", args=["made"]), fields | {"test_set": test_set.pk, "share": 0.4}
    )
    assert page.status_code == 302, page.content.decode()
    body = fields | {"key": "api", "test_set": "g", "share": 0.5}
    made = client.post(reverse("api-settings", args=["made"]), body, content_type="application/json")
    assert made.status_code == 201, made.content
    shares = list(benchmark.settings.values_list("key", "share"))
    assert shares == [("page", 0.4), ("page-rest", 0.4), ("api", 0.5), ("api-rest", 0.5)]
    form = client.get(reverse("setting-change", args=["made", "api-rest"])).content.decode()
    assert 'name="title"' in form
    assert 'name="closes_at"' not in form


def test_the_ledger_counts_the_bits_of_the_share(client: Client, cast: BenchmarkCast) -> None:
    benchmark = split_phase(cast)
    first, rest = both(benchmark)
    scored(cast, benchmark, wrong(GOLD, 0.3))
    assert Ledger(first).gold_bits < 0.4 * (Ledger(first).gold_bits + Ledger(rest).gold_bits)
    assert [team.files for team in Ledger(first).teams] == [1]
    assert Ledger(rest).teams == []
    client.force_login(cast.olga)
    page = client.get(reverse("board-ledger", args=["hid"])).content.decode()
    assert "Test, rest" in page


def test_parts_are_stable_under_other_items() -> None:
    part, names = Part("seed", 0.3), [f"s{at}" for at in range(3_000)]
    kept = [name for name in names if part.has(name)]
    assert len(kept) == pytest.approx(900, abs=75)
    assert [name for name in names if not Part("seed", 0.3, rest=True).has(name)] == kept
    assert [name for name in names if Part("other", 0.3).has(name)] != kept


def texts_of_figures(client: Client, setting: Setting) -> dict[str, str]:
    """Return what states how the figures of a setting were computed, by address."""
    slug, key = setting.benchmark.slug, f"?setting={setting.key}"
    addresses = [f"/boards/{slug}/view.{format}{key}" for format in ("json", "md", "tex")]
    addresses += [f"/boards/{slug}/board.csv{key}", f"/api/v1/benchmarks/{slug}/board{key}"]
    system = f"/boards/{slug}/systems/{Submission.objects.earliest('pk').system_id}/"
    addresses += [f"{system}{key}", *(f"{system}system.{format}{key}" for format in ("json", "md", "tex"))]
    compared = "&".join(f"systems=kelpie/{name}" for name in ("Net", "Other"))
    addresses += [f"/boards/{slug}/compare{each}{key}&{compared}" for each in ("/", ".md", ".tex")]
    return {each: client.get(each).content.decode() for each in addresses}


def stated(text: str, words: str, key: str) -> bool:
    """True if a text has words in HTML, LaTeX, Markdown or JSON, or the field that says the same."""
    plain = html.unescape(text).replace("\\%", "%").replace("~", " ")
    plain = plain.replace("\\u201c", "“").replace("\\u201d", "”")
    return words in plain or f'"{key}"' in text


def test_figures_of_a_part_say_so_wherever_they_stand(client: Client, cast: BenchmarkCast) -> None:
    benchmark = split_phase(cast)
    submission = scored(cast, benchmark, GOLD)
    scored(cast, benchmark, wrong(GOLD, 0.2), system="Other")
    first, rest = both(benchmark)
    client.force_login(cast.kim)
    open_texts = texts_of_figures(client, first)
    close(benchmark)
    n, total = len(ids(first)), len(GOLD)
    drawn = f"Scored items: {n} of {total}, 30 %, drawn once for all teams"
    for address, text in open_texts.items():
        assert stated(text, drawn, "scored_items"), address
        assert first.share_seed not in text, address
    for address, text in texts_of_figures(client, first).items():
        assert stated(text, f"{drawn}, seed {first.share_seed}", "share_seed"), address
    left = f"Scored items: {total - n} of {total}, the rest beside the 30 % of “Test”"
    for address, text in texts_of_figures(client, rest).items():
        assert stated(text, left, "rest_of"), address
    body = client.get(reverse("api-scores", args=[submission.pk])).json()
    assert all("Scored items: " in each["computed"] for each in body["evaluations"])
