"""Organisers configure benchmarks in the browser; errors are shown at their fields."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import Publication
from annotation.testset import TestSet
from evalsvc.core.activity.models import entries
from evalsvc.evaluation.benchmarks import creation
from evalsvc.evaluation.models import Benchmark, Setting
from tests.cast.benchmarks import ENTITY_GOLD, RELATION_GOLD, BenchmarkCast, freeze, gold_sentence
from tests.evalsvc.evaluation.test_leaderboard import scored
from workers.runner import run_next

OTHER_GOLD = [
    gold_sentence(line["id"], line["h"]["id"], line["t"]["id"], "born_in") for line in RELATION_GOLD
]
BOARD = {"title": "Port news", "slug": "port", "task": "relations", "missing": "refuse", "public": "on"}


@pytest.fixture
def olga(client: Client, cast: BenchmarkCast) -> Client:
    client.force_login(cast.olga)
    return client


def counts(content: bytes) -> SimpleUploadedFile:
    return SimpleUploadedFile("counts.tsv", content)


def field_errors(page: str) -> dict[str, str]:
    """Return the error message of each field."""
    messages = re.findall(r'<ul class="errorlist" id="id_(\w+)_error"><li>(.*?)</li>', page)
    return dict(messages)


def test_a_benchmark_is_created_with_every_field_of_the_api(olga: Client, cast: BenchmarkCast) -> None:
    gold = freeze("gold", RELATION_GOLD, by=cast.olga)
    more = freeze("more", OTHER_GOLD, by=cast.olga, labels=["died_in"])
    fields = BOARD | {
        "test_sets": [gold.pk, more.pk],
        "summary": "Relations in port news",
        "description": "From **two** papers.",
        "option_beta": "0.5",
        "option_include_negative": "on",
        "option_scheme": "BIOES",
        "per_day": "5",
        "in_total": "40",
        "at_once": "2",
        "time_zone": "Europe/Vienna",
        "upload_megabytes": "20",
        "lines": "9000",
        "training_counts": counts(b"born_in\t120\ndied_in\t3\n"),
    }
    response = olga.post(reverse("board-new"), fields)
    assert response.headers["Location"] == reverse("setting-new", args=["port"])
    board = Benchmark.objects.get(slug="port")
    assert [label["name"] for label in board.labels] == ["born_in", "works_for", "part_of", "died_in"]
    assert board.options == {"beta": 0.5, "include_negative": True}
    assert (board.per_day, board.in_total, board.at_once, board.time_zone) == (5, 40, 2, "Europe/Vienna")
    assert board.limits == {"upload_bytes": 20_000_000, "lines": 9000}
    assert board.training_counts == {"born_in": 120, "died_in": 3}
    assert (board.summary, board.description, board.public) == (
        "Relations in port news",
        "From **two** papers.",
        True,
    )


@pytest.mark.parametrize(
    ("wrong", "field", "named"),
    [
        ({"slug": "two words"}, "slug", "hyphens"),
        ({"slug": "rel"}, "slug", "rel"),
        ({"test_sets": []}, "test_sets", "at least one"),
        ({"task": "entities"}, "test_sets", "entities"),
        ({"option_beta": "0"}, "option_beta", "above 0"),
        ({"per_day": "0"}, "per_day", "above 0"),
        ({"upload_megabytes": "0"}, "upload_megabytes", "above 0"),
        ({"upload_megabytes": "9000"}, "upload_megabytes", "200 MB"),
        ({"lines": "999999999"}, "lines", "000,000"),
        ({"at_once": "two"}, "at_once", "whole number"),
        ({"time_zone": "Middle/Earth"}, "time_zone", "Middle/Earth"),
        ({"training_counts": counts(b"born_in few\nborn_in 3")}, "training_counts", "Line 1"),
        (
            {"training_counts": counts(b"nobody 3")},
            "training_counts",
            "nobody",
        ),
    ],
)
def test_an_invalid_value_is_reported_at_its_field(
    olga: Client, cast: BenchmarkCast, wrong: dict[str, Any], field: str, named: str
) -> None:
    cast.benchmark("rel")
    gold = freeze("gold", RELATION_GOLD, by=cast.olga)
    response = olga.post(reverse("board-new"), BOARD | {"test_sets": [gold.pk]} | wrong)
    assert response.status_code == 400
    assert named in field_errors(response.content.decode())[field]
    assert not Benchmark.objects.filter(slug="port").exists()


def test_a_skipped_heading_of_training_counts_is_named(olga: Client, cast: BenchmarkCast) -> None:
    board = cast.relations()
    address = reverse("board-change", args=["rel"])
    table = b"relation,count\nborn_in,3\n"
    sentence = "The first line of the training counts, “relation,count”, was skipped as a heading."
    fields = {"title": "Relations", "time_zone": "UTC"}
    for more in ({"do": "show"}, {}):
        page = olga.post(address, fields | more | {"training_counts": counts(table)}, follow=True)
        assert sentence in page.content.decode()
    board.refresh_from_db()
    assert board.training_counts == {"born_in": 3}
    page = olga.post(address, fields | {"training_counts": counts(b"born_in;1.234\nworks_for,5")})
    assert "Line 1" in field_errors(page.content.decode())["training_counts"]
    gold = freeze("gold", RELATION_GOLD, by=cast.olga)
    fields = BOARD | {"test_sets": [gold.pk], "training_counts": counts(table)}
    assert sentence in olga.post(reverse("board-new"), fields, follow=True).content.decode()


def test_the_rules_are_shown_and_can_be_changed(olga: Client, cast: BenchmarkCast) -> None:
    quotas = {"test": {"in_total": 2}}
    board = cast.relations(
        per_day=3, phase_quotas=quotas, limits={"lines": 1_000}, training_counts={"born_in": 7}
    )
    address = reverse("board-change", args=["rel"])
    page = olga.get(address).content.decode()
    assert 'name="per_day" value="3"' in page
    assert 'name="test_in_total" value="2"' in page
    assert (
        "Submissions in total, test phase"
        in olga.get(reverse("board-organise", args=["rel"])).content.decode()
    )
    assert 'name="lines" value="1000"' in page
    fields = {"title": "Relations", "per_day": "", "at_once": "4", "time_zone": "Asia/Tokyo"}
    olga.post(address, fields | {"no_training_counts": "on", "dev_per_day": "50"})
    board.refresh_from_db()
    assert board.phase_quotas == {"dev": {"per_day": 50}}
    assert (board.title, board.per_day, board.at_once, board.time_zone) == (
        "Relations",
        None,
        4,
        "Asia/Tokyo",
    )
    assert (board.limits, board.training_counts, board.public) == ({}, {}, False)


def test_organisers_are_warned_that_the_gold_of_a_hidden_phase_is_published(
    olga: Client, cast: BenchmarkCast
) -> None:
    setting = cast.relations().settings.get()
    publication = Publication.objects.create(
        test_set=setting.test_set, access="anybody", with_gold=True, by=cast.olga
    )
    for hidden, with_gold in ((True, True), (False, True), (True, False)):
        disclosure = Setting.Disclosure.HIDDEN if hidden else Setting.Disclosure.OPEN
        Setting.objects.update(disclosure=disclosure)
        Publication.objects.filter(pk=publication.pk).update(with_gold=with_gold)
        page = olga.get("/boards/rel/organise/").content.decode()
        assert (f"The gold of “{setting.test_set}” is published." in page) is (hidden and with_gold)


def test_untouched_fields_keep_the_values_set_by_api(olga: Client, cast: BenchmarkCast) -> None:
    rules = {"limits": {"upload_bytes": 123_456, "lines": 7}, "time_zone": "CET", "at_once": 2}
    board = cast.relations(**rules)
    page = olga.get(reverse("board-change", args=["rel"])).content.decode()
    form = dict(re.findall(r'<input[^>]* name="(\w+)" value="([^"]*)"', page))
    form |= {"time_zone": re.findall(r'<option value="([^"]*)" selected', page)[0]}
    olga.post(reverse("board-change", args=["rel"]), form | {"public": "on"})
    board.refresh_from_db()
    assert {name: getattr(board, name) for name in rules} == rules


def test_training_counts_stay_when_no_file_is_sent(olga: Client, cast: BenchmarkCast) -> None:
    board = cast.relations(training_counts={"born_in": 7})
    olga.post(reverse("board-change", args=["rel"]), {"title": "Relations", "public": "on"})
    board.refresh_from_db()
    assert board.training_counts == {"born_in": 7}


def test_a_setting_is_added_with_dates_measures_and_digits(olga: Client, cast: BenchmarkCast) -> None:
    cast.benchmark()
    gold = freeze("gold", RELATION_GOLD, by=cast.olga)
    fields = {"title": "Test", "key": "test", "test_set": gold.pk, "unit": "sentence", "main": "macro_f1"} | {
        "phase": "test",
        "opens_at": "2026-01-02T08:30",
        "closes_at": "2036-01-02T08:30",
        "sealed": "on",
        "measures": ["macro_f1", "accuracy"],
        "digits": "3",
        "lower_is_better": "True",
    }
    response = olga.post(reverse("setting-new", args=["rel"]), fields)
    assert response.headers["Location"] == reverse("board-organise", args=["rel"])
    made = Setting.objects.get()
    assert (made.phase, made.sealed, made.digits, made.lower_is_better) == ("test", True, 3, True)
    assert made.measures == ["macro_f1", "accuracy"]
    assert made.opens_at is not None
    assert f"{made.opens_at:%Y-%m-%d %H:%M %Z}" == "2026-01-02 08:30 UTC"
    page = olga.get(reverse("board-organise", args=["rel"])).content.decode()
    assert "sealed" in page.partition('id="settings"')[2]


SETTING = {"title": "Test", "key": "test", "unit": "sentence", "main": "macro_f1"}


@pytest.mark.parametrize(
    ("wrong", "field", "named"),
    [
        ({"key": "main"}, "key", "main"),
        ({"key": "new"}, "key", "new"),
        ({"unit": "bag", "main": "semeval2010_f1"}, "main", "semeval2010_f1"),
        ({"main": "tau"}, "main", "tau"),
        ({"sealed": "on"}, "closes_at", "closing time"),
        (
            {"opens_at": "2099-01-03T00:00", "closes_at": "2099-01-02T00:00"},
            "closes_at",
            "closes before it opens",
        ),
        ({"opens_at": "tomorrow"}, "opens_at", "2026-"),
        ({"measures": ["accuracy"]}, "measures", "macro_f1"),
        ({"digits": "9"}, "digits", "6"),
        ({"test_set": ""}, "test_set", "required"),
    ],
)
def test_an_invalid_setting_is_reported_at_its_field(
    olga: Client, cast: BenchmarkCast, wrong: dict[str, Any], field: str, named: str
) -> None:
    board = cast.relations()
    gold = freeze("gold", RELATION_GOLD, by=cast.olga)
    response = olga.post(reverse("setting-new", args=[board.slug]), SETTING | {"test_set": gold.pk} | wrong)
    assert response.status_code == 400
    page = response.content.decode()
    assert named in (field_errors(page).get(field) or page[page.index(f'"{field}"') :])
    assert board.settings.count() == 1


def test_a_test_set_with_other_labels_is_rejected_at_its_field(olga: Client, cast: BenchmarkCast) -> None:
    cast.benchmark()
    strange = freeze("strange", OTHER_GOLD, by=cast.olga, labels=["born_in", "died_in"])
    response = olga.post(reverse("setting-new", args=["rel"]), SETTING | {"test_set": strange.pk})
    assert "died_in" in field_errors(response.content.decode())["test_set"]


def test_entity_measures_are_offered_only_to_entity_benchmarks(olga: Client, cast: BenchmarkCast) -> None:
    cast.benchmark()
    freeze("spans", ENTITY_GOLD, by=cast.olga, labels=["PER", "LOC"], kind="entities")
    assert "spans 1" not in olga.get(reverse("setting-new", args=["rel"])).content.decode()


def test_an_entity_benchmark_has_no_negative_class(olga: Client, cast: BenchmarkCast) -> None:
    spans = freeze("spans", ENTITY_GOLD, by=cast.olga, labels=["PER", "LOC"], kind="entities")
    olga.post(reverse("board-new"), BOARD | {"task": "entities", "test_sets": [spans.pk]})
    assert Benchmark.objects.get(slug="port").negative == ""


def test_changing_a_setting_changes_no_score(olga: Client, cast: BenchmarkCast) -> None:
    board = cast.relations(main="accuracy")
    scored(cast, board, "Net", 4)
    address = reverse("setting-change", args=["rel", "main"])
    assert 'value="accuracy" selected' in olga.get(address).content.decode()
    olga.post(address, {"title": "Human gold", "main": "micro_f1", "digits": "3"})
    made = board.settings.get()
    assert (made.title, made.main, made.digits, made.version) == ("Human gold", "micro_f1", 3, 1)


def test_another_gold_is_a_new_version_and_the_old_board_stays_readable(
    olga: Client, cast: BenchmarkCast
) -> None:
    board = cast.relations(main="accuracy")
    scored(cast, board, "Net", 6)
    mended = freeze("mended", OTHER_GOLD, by=cast.olga)
    address = reverse("setting-revise", args=["rel", "main"])
    response = olga.post(address, {"test_set": mended.pk, "note": "Four labels mended"})
    assert response.headers["Location"] == reverse("setting", args=["rel", "main"])
    while run_next("score"):
        pass
    olga.logout()
    page = olga.get(reverse("setting", args=["rel", "main"])).content.decode()
    assert "Four labels mended" in page
    assert "version=1" in page
    shown = reverse("board", args=["rel"])
    assert "33.3" in olga.get(shown).content.decode()
    past = olga.get(shown, {"version": "1"})
    assert (past.context["shown_version"], past.context["past"]) == (1, True)
    for figure in ("100.0", "gold-sentence 1"):
        assert figure in past.content.decode()
    assert ",1.0," in olga.get(reverse("board-csv", args=["rel"]), {"version": "1"}).content.decode()


def test_the_same_gold_is_rejected_at_the_test_set(olga: Client, cast: BenchmarkCast) -> None:
    setting = cast.relations().settings.get()
    response = olga.post(reverse("setting-revise", args=["rel", "main"]), {"test_set": setting.test_set_id})
    assert "gold-sentence 1" in field_errors(response.content.decode())["test_set"]


@pytest.mark.parametrize("version", ["7", "x", "12345"])
def test_an_unknown_version_is_404(client: Client, cast: BenchmarkCast, version: str) -> None:
    cast.relations()
    response = client.get(reverse("board", args=["rel"]), {"version": version})
    assert response.status_code == 400
    assert "version" in response.content.decode()


def test_downloaded_inputs_contain_no_gold(client: Client, cast: BenchmarkCast) -> None:
    cast.relations()
    client.force_login(cast.kim)
    assert (
        reverse("setting", args=["rel", "main"])
        in client.get(reverse("board", args=["rel"])).content.decode()
    )
    page = client.get(reverse("setting", args=["rel", "main"])).content.decode()
    assert reverse("setting-inputs", args=["rel", "main"]) in page
    response = client.get(reverse("setting-inputs", args=["rel", "main"]))
    content = b"".join(response.streaming_content)  # type: ignore[attr-defined]
    assert content.count(b"\n") == 6
    assert b"relations" not in content


def test_a_visitor_is_led_to_the_log_in_before_the_inputs(client: Client, cast: BenchmarkCast) -> None:
    cast.relations()
    address = reverse("setting", args=["rel", "main"])
    page = client.get(address).content.decode()
    assert reverse("setting-inputs", args=["rel", "main"]) not in page
    assert f'{reverse("login")}?next={address}"' in page


def test_a_visitor_downloads_a_public_board_as_json(client: Client, cast: BenchmarkCast) -> None:
    scored(cast, cast.relations(main="accuracy"), "Net", 3)
    page = client.get(reverse("board", args=["rel"])).content.decode()
    assert reverse("board-json", args=["rel"]) in page
    (row,) = client.get(reverse("board-json", args=["rel"])).json()["rows"]
    assert row["figures"]["accuracy"]["mean"] == pytest.approx(0.5)


def test_a_setting_that_is_not_open_shows_its_opening(client: Client, cast: BenchmarkCast) -> None:
    setting = cast.relations().settings.get()
    now = timezone.now()
    for change, state in (
        ({"opens_at": now + timedelta(days=3)}, "Opens on"),
        ({"opens_at": None, "closes_at": now - timedelta(days=3)}, "Closed on"),
    ):
        Setting.objects.filter(pk=setting.pk).update(**change)
        assert state in client.get(reverse("setting", args=["rel", "main"])).content.decode()


@pytest.mark.parametrize(
    "address", ["/boards/rel/settings/main/inputs/", "/api/v1/benchmarks/rel/settings/main/inputs"]
)
def test_inputs_are_unavailable_until_the_setting_opens(
    client: Client, cast: BenchmarkCast, address: str
) -> None:
    cast.relations()
    opens_at = timezone.now() + timedelta(days=1)
    Setting.objects.update(opens_at=opens_at)
    client.force_login(cast.kim)
    response = client.get(address)
    assert response.status_code == 409
    assert f"{opens_at:%Y-%m-%d %H:%M} UTC" in response.content.decode()
    page = client.get(reverse("setting", args=["rel", "main"])).content.decode()
    assert reverse("setting-inputs", args=["rel", "main"]) not in page
    client.force_login(cast.olga)
    assert client.get(address).status_code == 200


@pytest.mark.parametrize(
    ("same", "disclosure", "warned"), [(38, "hidden", True), (22, "hidden", False), (38, "open", False)]
)
def test_organisers_are_told_that_hidden_gold_stands_in_the_order_of_its_labels(
    olga: Client, cast: BenchmarkCast, same: int, disclosure: str, warned: bool
) -> None:
    """Three constant files and the order of the inputs gave 194 of 200 labels away."""
    test_set = freeze("long", [gold_sentence(f"s{n}", "A", "B") for n in range(40)], by=cast.olga)
    cast.benchmark(settings=[("main", test_set, "sentence", "micro_f1")])
    figures = {"neighbours": {"same": same, "by_chance": 13.0}}
    TestSet.objects.filter(pk=test_set.pk).update(statistics=figures)
    Setting.objects.update(disclosure=disclosure)
    page = olga.get(reverse("board-organise", args=["rel"])).content.decode()
    assert ("stand in the order of their labels" in page) is warned


def test_training_counts_are_shown_with_the_figures_of_each_label(
    client: Client, cast: BenchmarkCast
) -> None:
    (submission,) = scored(cast, cast.relations(training_counts={"born_in": 1204}), "Net", 4)
    assert "1,204" in client.get(reverse("board", args=["rel"])).content.decode()
    client.force_login(cast.kim)
    page = client.get(reverse("submission", args=[submission.pk])).content.decode()
    assert '<td class="fig quiet">1,204</td>' in page


def test_an_empty_slug_is_made_from_the_title(olga: Client, cast: BenchmarkCast) -> None:
    gold = freeze("gold", RELATION_GOLD, by=cast.olga)
    fields = BOARD | {"title": "Kbd Board!", "slug": "", "test_sets": [gold.pk]}
    assert olga.post(reverse("board-new"), fields)["Location"] == reverse("setting-new", args=["kbd-board"])
    setting = SETTING | {"title": "Human gold, sentences", "key": "", "test_set": gold.pk}
    olga.post(reverse("setting-new", args=["kbd-board"]), setting)
    assert Benchmark.objects.get(slug="kbd-board").settings.get().key == "human-gold-sentences"


def test_a_title_without_slug_characters_requires_a_slug(olga: Client, cast: BenchmarkCast) -> None:
    gold = freeze("gold", RELATION_GOLD, by=cast.olga)
    fields = BOARD | {"title": "港", "slug": "", "test_sets": [gold.pk]}
    response = olga.post(reverse("board-new"), fields)
    assert response.status_code == 400
    assert "slug" in field_errors(response.content.decode())


def test_an_option_of_the_other_task_is_ignored(olga: Client, cast: BenchmarkCast) -> None:
    gold = freeze("gold", RELATION_GOLD, by=cast.olga)
    fields = BOARD | {"test_sets": [gold.pk], "option_scheme": "none", "option_repair": "strict-iob2"}
    assert olga.post(reverse("board-new"), fields)["Location"] == reverse("setting-new", args=["port"])
    assert Benchmark.objects.get(slug="port").options == {}


# ---- effect of another disclosure or other dates ----------------------------------------------------
def test_what_teams_would_see_is_stated_before_a_setting_changes(olga: Client, cast: BenchmarkCast) -> None:
    (submission,) = scored(cast, cast.relations(), "Net", 4)
    setting = submission.benchmark.settings.get()
    page = reverse("setting-change", args=[submission.benchmark.slug, setting.key])
    sent = {"title": setting.title, "main": setting.main, "disclosure": "hidden", "do": "show"}
    words = re.sub(r"\s+", " ", olga.post(page, sent).content.decode())
    assert "Teams would see no figure instead of all figures, counts and errors, on 1 run of 1 team." in words
    assert "They have seen the errors: new runs may know the gold." in words
    assert Setting.objects.get().disclosure == "open"
    api = reverse("api-setting", args=[submission.benchmark.slug, setting.key])
    closes = timezone.now() + timedelta(days=3)
    change = {"disclosure": "hidden", "sealed": True, "closes_at": closes.isoformat(), "preview": True}
    answer = olga.patch(api, change, content_type="application/json").json()
    effect = answer["effect"]
    assert (answer["disclosure"], answer["sealed"], Setting.objects.get().closes_at) == ("open", False, None)
    assert (effect["runs"], effect["teams"], effect["elsewhere"]) == (1, 1, 0)
    assert [effect[at]["figures"] for at in ("before", "after", "at_closing")] == ["exact", "none", "exact"]
    assert [effect[at]["digest"] for at in ("before", "after", "at_closing")] == [True, False, True]
    saved = olga.patch(api, change | {"preview": False}, content_type="application/json").json()
    assert (saved["sealed"], saved["effect"]) == (True, None)


def test_the_effect_counts_the_ranks_that_another_main_measure_or_row_rule_changes(
    olga: Client, cast: BenchmarkCast
) -> None:
    benchmark = cast.relations(main="accuracy")
    scored(cast, benchmark, "Net", 6, 2)
    scored(cast, benchmark, "Bow", 5)
    setting = benchmark.settings.get()
    sent = {"title": setting.title, "main": "accuracy", "disclosure": "open", "do": "show"}
    page = reverse("setting-change", args=[benchmark.slug, setting.key])
    words = " ".join(olga.post(page, sent | {"row_rule": "final"}).content.decode().split())
    assert "By exact figures, the order of 2 ranked systems stays the same." in words
    api = reverse("api-setting", args=[benchmark.slug, setting.key])

    def effect(**change: object) -> Any:
        preview = olga.patch(api, {**change, "preview": True}, content_type="application/json")
        return preview.json()["effect"]

    turned = {"systems": 2, "moved": 2, "first_before": "“Bow”", "first_after": "“Net”"}
    assert (changed := effect(lower_is_better=True))["order"] == turned
    moved = "By exact figures, 2 of 2 ranked systems would have another rank"
    assert f"{moved}; first is “Net” instead of “Bow”." in changed["effect"]
    assert effect(title="Other")["order"] is None
    assert (Setting.objects.get().row_rule, Setting.objects.get().lower_is_better) == ("mean", None)


def test_who_would_see_a_board_is_stated_before_it_is_hidden_and_the_change_is_logged(
    olga: Client, cast: BenchmarkCast
) -> None:
    benchmark = cast.relations()
    scored(cast, benchmark, "Net", 6, 2)
    page = reverse("board-change", args=[benchmark.slug])
    words = " ".join(olga.post(page, {"title": "Rel", "do": "show"}).content.decode().split())
    hidden = (
        "Only 1 person with a role would see it: 1 system with 2 scored runs. "
        "“Kelpie” could no longer open it or submit, as no member has a role."
    )
    assert hidden in words
    api = reverse("api-benchmark", args=[benchmark.slug])

    def change(**sent: object) -> Any:
        return olga.patch(api, sent, content_type="application/json").json()

    assert change(public=False, preview=True)["effect"]["locked_out"] == ["Kelpie"]
    assert (Benchmark.objects.get().public, change(public=False)["effect"]) == (True, None)
    change(baselines=[{"team": "kelpie", "system": "Net"}])
    logged = [(each.action, each.before, each.after) for each in entries(benchmark)]
    assert logged[:2] == [("baselines", [], ["Net"]), ("rules", {"public": True}, {"public": False})]
    log = olga.get(reverse("board-log", args=[benchmark.slug])).content.decode()
    assert "<td>public: yes</td><td>public: no</td>" in log
    lines = b"".join(olga.get(reverse("board-log-csv", args=[benchmark.slug])))  # type: ignore[arg-type]
    head, *_, last = lines.decode().splitlines()
    assert (head, last.partition(",")[2]) == ("at,by,action,about,before,after", "olga,baselines,,,Net")
    assert (logged[-1][0], entries(benchmark).last().about) == ("setting added", "main")  # type: ignore[union-attr]
    assert change(public=True, preview=True)["effect"]["effect"] == (
        "Everybody would see it: 1 system with 2 scored runs."
    )


def test_the_effect_names_other_settings_whose_figures_change_with_it(
    olga: Client, cast: BenchmarkCast
) -> None:
    past, later = timezone.now() - timedelta(days=1), timezone.now() + timedelta(days=1)
    gold = freeze("gold", RELATION_GOLD, by=cast.olga)
    hides = {
        "test_set": gold,
        "unit": "sentence",
        "main": "micro_f1",
        "disclosure": "hidden",
        "by": cast.olga,
    }
    ended, running = cast.benchmark("ended"), cast.benchmark("running")
    creation.add_setting(ended, key="a", title="A", closes_at=past, **hides)
    creation.add_setting(running, key="b", title="B", closes_at=later, **hides)
    change = {"closes_at": past.isoformat(), "past_meant": True, "preview": True}
    api = reverse("api-setting", args=["running", "b"])
    effect = olga.patch(api, change, content_type="application/json").json()["effect"]
    assert (effect["elsewhere"], effect["after"]["figures"], effect["at_closing"]) == (1, "exact", None)
    assert "The setting is closed then." in effect["effect"]
    assert "1 other setting on this gold also changes" in effect["effect"]


def test_the_ledger_warns_before_teams_use_quotas_that_give_the_gold_away(
    client: Client, cast: BenchmarkCast
) -> None:
    labels = ["born_in", "works_for"] * 200
    gold = [gold_sentence(f"g{n}", "Q1", "Q2", label) for n, label in enumerate(labels)]
    settings = [("main", freeze("many", gold, by=cast.olga), "sentence", "micro_f1")]
    benchmark = cast.benchmark(settings=settings)
    Setting.objects.update(disclosure="hidden")
    client.force_login(cast.olga)
    address = reverse("board-ledger", args=["rel"])
    warning = "The quotas let a team know more than 10 % of the labels."
    assert warning in (page := client.get(address).content.decode())
    assert page.count("micro F1") == 2  # of labels, and the best of scores; none of entities
    benchmark.default_quotas, benchmark.in_total = False, 1
    benchmark.save()
    assert warning not in client.get(address).content.decode()


def test_the_ledger_of_a_hidden_phase_stays_when_it_has_closed(client: Client, cast: BenchmarkCast) -> None:
    cast.relations()
    Setting.objects.update(disclosure="hidden", closes_at=timezone.now())
    client.force_login(cast.olga)
    page = client.get(reverse("board-ledger", args=["rel"])).content.decode()
    assert "It has closed; this is what its figures gave away until then." in page
    assert "No phase of this benchmark hides its gold" not in page
