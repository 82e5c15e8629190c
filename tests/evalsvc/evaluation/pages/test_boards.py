"""Board pages: visibility, summary, and no gold."""

from __future__ import annotations

import csv
import json
import re
from datetime import timedelta
from io import StringIO

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from evalsvc.core.errors.exceptions import DomainError
from evalsvc.evaluation import submission_states
from evalsvc.evaluation.benchmarks import creation
from evalsvc.evaluation.measures.menu import MENU
from evalsvc.evaluation.models import Benchmark, Setting, Submission
from evalsvc.evaluation.pages import boards
from evalsvc.evaluation.pages.overviews import overviews
from tests.cast.benchmarks import ENTITY_GOLD, RELATION_GOLD, BenchmarkCast, Line, freeze, gold_sentence
from tests.evalsvc.evaluation.test_leaderboard import scored
from tests.workers.handlers.test_score import SCORE_LINES
from workers.runner import run_next


def shown(client: Client, name: str, *args: object, **query: str) -> str:
    response = client.get(reverse(name, args=args), query)
    assert response.status_code == 200
    return response.content.decode()


def summary_of(client: Client, **query: str) -> str:
    """Return the sentence at the top of the board."""
    return str(client.get(reverse("board", args=["rel"]), query).context["sentence"])


def test_a_board_without_runs_shows_the_submit_command_with_its_url(
    client: Client, cast: BenchmarkCast
) -> None:
    cast.relations()
    page = shown(client, "board", "rel")
    assert "http://testserver/api/v1/benchmarks/rel/submissions" in page


def test_a_board_without_settings_lets_organisers_add_one(client: Client, cast: BenchmarkCast) -> None:
    cast.benchmark()
    assert reverse("setting-new", args=["rel"]) not in shown(client, "board", "rel")
    client.force_login(cast.olga)
    assert reverse("setting-new", args=["rel"]) in shown(client, "board", "rel")


def test_a_board_begins_with_a_summary(client: Client, cast: BenchmarkCast) -> None:
    benchmark = cast.relations()
    scored(cast, benchmark, "Alder", 6, 6)
    scored(cast, benchmark, "Birch", 2, 2)
    summary = summary_of(client, order="accuracy")
    assert summary.startswith("“Alder” has 100.0 accuracy, “Birch” 33.3; nothing is claimed: ")


def test_rows_are_sorted_by_the_requested_column(client: Client, cast: BenchmarkCast) -> None:
    benchmark = cast.relations()
    scored(cast, benchmark, "Alder", 3)
    scored(cast, benchmark, "Birch", 5)
    page = shown(client, "board", "rel", order="accuracy")
    body = page[page.index("<tbody>") :]
    assert body.index("Birch") < body.index("Alder")


def test_a_long_board_has_pages_and_downloads_the_whole(
    client: Client, cast: BenchmarkCast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(boards, "ROWS", 2)
    benchmark = cast.relations()
    for system, right in (("Alder", 6), ("Birch", 4), ("Cedar", 2)):
        scored(cast, benchmark, system, right)
    first, second = (client.get(reverse("board", args=["rel"]), {"page": page}) for page in (1, 2))
    assert [[line.row.system.name for line in each.context["table"].rows] for each in (first, second)] == [
        ["Alder", "Birch"],
        ["Cedar"],
    ]
    assert 'order=micro_f1&amp;page=2">Next' in first.content.decode()
    assert second.context["sentence"] == first.context["sentence"]
    assert shown(client, "board-csv", "rel", order="accuracy").count("Cedar") > 1


def test_an_address_keeps_columns_filters_and_order(client: Client, cast: BenchmarkCast) -> None:
    benchmark = cast.relations()
    scored(cast, benchmark, "Alder", 6, 5)
    twin = freeze("twin", RELATION_GOLD, by=cast.olga)
    creation.add_setting(
        benchmark, key="twin", title="Twin", test_set=twin, unit="sentence", main="accuracy", by=cast.olga
    )
    query = {"columns": ["twin:accuracy", "macro_f1"], "order": "accuracy", "team": "kelpie"}
    context = client.get(reverse("board", args=["rel"]), query).context
    assert [column.key for column in context["table"].others] == ["main:macro_f1", "twin:accuracy"]
    assert [(group.title, group.columns) for group in context["table"].groups] == [("main", 1), ("Twin", 1)]
    address = context["query"]
    assert address.startswith("?setting=main&columns=twin:accuracy&columns=main:macro_f1&team=kelpie")
    again = client.get(reverse("board", args=["rel"]) + address)
    assert again.context["query"] == address
    assert "no scored run under “Twin”" in again.content.decode()
    side_by_side = client.get(reverse("board", args=["rel"]) + context["side_by_side"]).context
    assert [column.key for column in side_by_side["table"].others] == ["twin:accuracy"]
    empty = {"setting": "twin", "columns": ["main:micro_f1", "twin:accuracy"]}
    assert client.get(reverse("board", args=["rel"]), empty).status_code == 200


def test_tags_are_in_the_order_of_their_names_whatever_the_database_keeps(
    client: Client, cast: BenchmarkCast
) -> None:
    scored(cast, cast.relations(), "Alder", 6)
    Submission.objects.update(tags={"of": {"b": 1, "a": [2]}, "pre-trained": True, "extra": 7})
    ordered = '{"extra": 7, "of": {"a": [2], "b": 1}, "pre-trained": true}'
    (row,) = client.get("/boards/rel/board.json").json()["rows"]
    assert json.dumps(row["tags"]) == ordered
    run = Submission.objects.get()
    client.force_login(run.by)
    page = client.get(reverse("submission", args=[run.pk])).content.decode()
    assert re.search("extra: 7, of: .*, pre-trained: True", page)


def test_what_a_team_declares_is_quoted_beside_its_system(client: Client, cast: BenchmarkCast) -> None:
    scored(cast, cast.relations(), "Alder", 6)
    Submission.objects.update(tags={"entry": "final <b>", "baseline": True, "winner": True})
    page = client.get(reverse("board", args=["rel"])).content.decode()
    quoted = '<span class="quiet">declared by the team: “entry: final &lt;b&gt;”, “winner”</span>'
    assert (quoted in page, 'class="chip' in page[: page.index(quoted)]) == (True, False)


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ({"team": "KEL"}, ["Alder", "Birch"]),
        ({"tag": "bert"}, ["Birch"]),
        ({"tag": "paper"}, ["Birch"]),
        ({"tag": "no such tag"}, []),
        ({"since": "2999-01-01"}, []),
        ({"until": "2999-01-01", "team": "nobody"}, []),
    ],
)
def test_filters_keep_the_ranks_of_the_whole_board(
    client: Client, cast: BenchmarkCast, query: dict[str, str], names: list[str]
) -> None:
    benchmark = cast.relations()
    scored(cast, benchmark, "Alder", 6)
    scored(cast, benchmark, "Birch", 2)
    paper = "https://example.org/paper"
    Submission.objects.filter(system__name="Birch").update(
        tags={"pre-trained": "BERT", "paper": paper, "code": "mine"}
    )
    response = client.get(reverse("board", args=["rel"]), query)
    rows = {line.row.system.name: line for line in response.context["table"].rows}
    assert list(rows) == names
    if "Birch" in rows:
        assert rows["Birch"].row.rank == 2
        assert rows["Birch"].links == {"paper": paper}
        assert rows["Birch"].tags == ["code: mine", "pre-trained: BERT"]
        assert f'href="{paper}"' in response.content.decode()
    elif not names:
        assert "No system passes the filters." in response.content.decode()


@pytest.mark.parametrize(
    ("query", "detail"),
    [
        ({"columns": "main:nonsense"}, "no column &#x27;main:nonsense&#x27;"),
        ({"columns": "nowhere:accuracy"}, "no column &#x27;nowhere:accuracy&#x27;"),
        ({"since": "2026-03-02", "until": "2026-03-01"}, "No day is from 2026-03-02 to 2026-03-01."),
        ({"since": "31.3.2026"}, "&#x27;31.3.2026&#x27; is not a date"),
        ({"columns": list(MENU)[:41]}, "41 columns are chosen; a view has at most 40"),
    ],
)
def test_a_view_that_cannot_be_shown_is_refused(
    client: Client, cast: BenchmarkCast, query: dict[str, str], detail: str
) -> None:
    cast.relations()
    response = client.get(reverse("board", args=["rel"]), query)
    assert response.status_code == 400
    assert detail in response.content.decode()


def test_a_view_is_downloaded_as_it_is_shown(client: Client, cast: BenchmarkCast) -> None:
    benchmark = cast.relations()
    scored(cast, benchmark, "Alder & Co", 6, 4)
    scored(cast, benchmark, "Birch", 2)
    query = {"order": "accuracy", "columns": "macro_f1"}

    def file(format: str, **more: str) -> str:
        address = reverse("board-view-file", args=["rel", format])
        response = client.get(address, query | more)
        assert response.status_code == 200
        return response.content.decode()

    rows = list(csv.DictReader(StringIO(file("csv"))))
    assert [(row["place"], row["system"], row["n"]) for row in rows] == [
        ("1", "Alder & Co", "2"),
        ("2", "Birch", "1"),
    ]
    assert float(rows[0]["main:accuracy"]) == pytest.approx(5 / 6)
    assert float(rows[0]["main:accuracy:sd"]) == pytest.approx(0.2357, abs=1e-4)
    assert "main:macro_f1" in rows[0]
    latex = file("tex")
    assert r"\toprule" in latex
    assert r"Alder \& Co & 2 & 83.3 $\pm$ 23.6 &" in latex
    assert r"\textbf" not in latex
    assert r"| – | Alder & Co | 2 | 83.3 ± 23.6 |" in file("md")
    runs = json.loads(file("json", table="runs"))["rows"]
    assert [(run["system"], run["run"], run["accuracy"]) for run in runs] == [
        ("Alder & Co", "1", 1.0),
        ("Alder & Co", "2", pytest.approx(4 / 6)),
        ("Birch", "1", pytest.approx(2 / 6)),
    ]
    address = reverse("board-view-file", args=["rel", "csv"])
    assert client.get(address, {"table": "gold"}).status_code == 404
    assert client.get(reverse("board-view-file", args=["rel", "xls"])).status_code == 404


def test_the_list_follows_every_change_of_a_board(cast: BenchmarkCast) -> None:
    benchmark = cast.relations(main="accuracy")

    def front() -> str:
        (entry,) = overviews([benchmark])
        assert overviews([benchmark]) == [entry]
        return entry.summary.front

    assert front() == ""
    scored(cast, benchmark, "Alder", 3)
    assert front() == "“Alder”, 50.0"
    (better,) = scored(cast, benchmark, "Birch", 6)
    assert front() == "“Birch”, 100.0"
    submission_states.withdraw(better, by=cast.kim)
    assert front() == "“Alder”, 50.0"
    setting = creation.change_setting(benchmark.settings.get(), by=cast.olga, digits=3)
    assert front() == "“Alder”, 50.000"
    fewer = freeze("fewer", RELATION_GOLD[:5], by=cast.olga)
    creation.revise_setting(setting, test_set=fewer, by=cast.olga)
    assert front() == "“Alder”, 50.000"
    while run_next("score"):
        pass
    assert front() == "“Alder”, 60.000"
    Setting.objects.update(sealed=True, closes_at=timezone.now() + timedelta(days=1))
    assert front() == ""


def test_the_list_names_every_system_of_the_best_mean(cast: BenchmarkCast) -> None:
    """Of 6 answers 0, 4 and 6 are right, and 1, 4 and 5: the means differ in the last digit of a float."""
    benchmark = cast.relations(main="accuracy")
    scored(cast, benchmark, "Alder", 0, 4, 6)
    scored(cast, benchmark, "Birch", 1, 4, 5)
    summary = overviews([benchmark])[0].summary
    assert summary.front == "“Alder”, “Birch”, 55.6"
    assert str(summary.rug).count("rug--top") == 1


def test_the_list_shows_the_phase_that_began_last_unless_its_scores_are_sealed(cast: BenchmarkCast) -> None:
    benchmark, now = cast.relations(main="accuracy"), timezone.now()
    scored(cast, benchmark, "Alder", 3)
    test = creation.add_setting(
        benchmark, key="test", title="Test", test_set=freeze("test", RELATION_GOLD[:5], by=cast.olga),
        unit="sentence", main="accuracy", disclosure="open", by=cast.olga,
    )  # fmt: skip
    while run_next("score"):
        pass

    def front(**dates: object) -> str:
        Setting.objects.filter(pk=test.pk).update(**dates)
        return overviews([benchmark])[0].summary.front

    assert front() == "“Alder”, 50.0"
    assert front(opens_at=now - timedelta(days=2)) == "“Alder”, 60.0"
    assert front(opens_at=now + timedelta(days=2)) == "“Alder”, 50.0"
    closed = {"opens_at": now - timedelta(days=2), "closes_at": now - timedelta(days=1)}
    assert front(sealed=True, **closed) == "“Alder”, 60.0"
    assert front(closes_at=now + timedelta(days=1)) == "“Alder”, 50.0"


def test_the_orders_of_pooled_wrf_and_of_its_mean_over_documents_are_compared(
    client: Client, cast: BenchmarkCast
) -> None:
    benchmark = cast.entities()
    for system, spans in (("Alder", [[0, 1, "PER"]]), ("Birch", [])):
        cast.submit(benchmark, [{"id": line["id"], "spans": spans} for line in ENTITY_GOLD], system=system)
    while run_next("score"):
        pass
    address = reverse("board-view-file", args=["ner", "json"])
    for order, other in (("wrf_strict", ", mean of documents"), ("wrf_strict_mean", "WRF strict")):
        rows = client.get(address, {"table": "orders", "order": order}).json()["rows"]
        assert [row["order"] for row in rows if row["order"].endswith(other)] != []


def test_the_list_names_three_systems_in_front_and_counts_the_others(cast: BenchmarkCast) -> None:
    benchmark = cast.relations(main="accuracy")
    fronts = []
    for system in ("Alder", "Birch", "Cedar", "Dogwood", "Elder"):
        scored(cast, benchmark, system, 4)
        fronts.append(overviews([benchmark])[0].summary.front)
    named = "“Alder”, “Birch”, “Cedar”"
    assert [front.rpartition(", ")[0] for front in fronts[2:]] == [
        named, f"{named} and 1 other", f"{named} and 2 others"
    ]  # fmt: skip


def test_the_list_has_no_date_of_a_run_that_is_sealed(client: Client, cast: BenchmarkCast) -> None:
    benchmark = cast.relations()
    (run,) = scored(cast, benchmark, "Alder", 3)
    assert overviews([benchmark])[0].summary.last == run.created_at
    Setting.objects.update(sealed=True, closes_at=timezone.now() + timedelta(days=1))
    assert overviews([benchmark])[0].summary.last is None


def test_an_unknown_column_is_rejected_by_name(client: Client, cast: BenchmarkCast) -> None:
    cast.relations()
    response = client.get(reverse("board", args=["rel"]), {"order": "nonsense"})
    assert response.status_code == 400
    assert "nonsense" in response.content.decode()


@pytest.mark.parametrize(
    ("address", "detail", "hint"),
    [
        ("/boards/rel/?setting=nope", "Relations has no setting ‘nope’.", "Known: main."),
        ("/api/v1/benchmarks/rel/board?setting=nope", "Relations has no setting ‘nope’.", "Known: main."),
        ("/api/v1/benchmarks/lost/board", "This service has no benchmark ‘lost’.", "The list of benchmarks"),
        ("/api/v1/benchmarks/rel/board?order=nope", "The board has no measure nope.", "Known: micro_f1, "),
        ("/boards/rel/view.csv?table=nope", "The leaderboard has no table ‘nope’.", "Known: systems, "),
        ("/boards/rel/errors/?a=nope", "“Main” has no scored run of ‘nope’.", "Name a system as team/system"),
        ("/boards/rel/errors/?low=abc", "‘abc’ is not a document score.", "Use a number from 0 to 1"),
        ("/boards/rel/errors/?low=.9&high=.1", "F1 from 0.9 to 0.1 is empty.", "Swap them."),
        ("/boards/rel/errors/?label=nope", "Unknown label: ‘nope’.", "Use "),
    ],
)
def test_an_unknown_name_is_answered_with_those_that_exist(
    client: Client, cast: BenchmarkCast, address: str, detail: str, hint: str
) -> None:
    benchmark = cast.relations(title="Relations")
    Setting.objects.update(title="Main")
    cast.submit(benchmark, [{"id": f"s{n}", "label": "born_in"} for n in range(1, 7)])
    assert run_next("score")
    client.force_login(cast.kim)
    response = client.get(address)
    assert response.status_code in (400, 404)
    body = response.json() if "/api/" in address else response.context["problem"]
    assert body["detail"] == detail.replace("‘", "'").replace("’", "'")
    assert body["hint"].startswith(hint)
    assert "conll" not in body["hint"]  # a measure of spans


def test_an_undefined_figure_is_a_dash_with_its_reason(client: Client, cast: BenchmarkCast) -> None:
    empty = freeze("empty", [gold_sentence("s1", "Q1", "Q2")], by=cast.olga)
    benchmark = cast.benchmark(settings=[("main", empty, "sentence", "micro_f1")])
    cast.submit(benchmark, [{"id": "s1", "label": "N/A"}])
    assert run_next("score")
    page = shown(client, "board", "rel")
    assert '<span class="dash"' in page
    assert re.search(r'<li class="note">[^<]*micro F1', page)


def test_the_same_pair_in_opposite_order_is_listed(client: Client, cast: BenchmarkCast) -> None:
    gold = freeze("human", RELATION_GOLD, by=cast.olga)
    wrong = [line | {"relations": ["part_of"]} for line in RELATION_GOLD]
    source = freeze("source", wrong, by=cast.olga, origin="source")
    benchmark = cast.benchmark(
        settings=[("human", gold, "sentence", "micro_f1"), ("held-out", source, "sentence", "micro_f1")]
    )
    scored(cast, benchmark, "Reader", 6, 6)
    everything = [{"id": f"s{n}", "label": "part_of"} for n in range(1, 7)]
    for run in ("1", "2"):
        cast.submit(benchmark, [*everything[:-1], everything[-1]], system="Echo", run=run)
    while run_next("score"):
        pass
    context = client.get(reverse("board", args=["rel"])).context
    assert "Reader / Echo" in shown(client, "board", "rel")
    assert "held-out" in context["sentence"]
    assert re.findall(r"\d+", context["reversals_lead"]) == ["1"]


def test_a_private_board_is_visible_to_its_participants_only(client: Client, cast: BenchmarkCast) -> None:
    cast.relations(public=False)
    assert client.get(reverse("board", args=["rel"])).status_code == 404
    client.force_login(cast.kim)
    assert client.get(reverse("board", args=["rel"])).status_code == 404
    client.force_login(cast.olga)
    assert client.get(reverse("board", args=["rel"])).status_code == 200


def test_rows_link_to_runs_only_for_users_who_may_see_them(client: Client, cast: BenchmarkCast) -> None:
    (submission,) = scored(cast, cast.relations(), "Net", 4)
    address = reverse("submission", args=[submission.pk])
    client.force_login(cast.lars)
    assert address not in shown(client, "board", "rel")
    client.force_login(cast.kim)
    assert address in shown(client, "board", "rel")


@pytest.mark.parametrize("name", ["board", "board-csv", "submit"])
def test_gold_is_on_no_page_of_a_board(client: Client, cast: BenchmarkCast, name: str) -> None:
    scored(cast, cast.relations(), "Net", 4)
    client.force_login(cast.olga)
    page = shown(client, name, "rel")
    assert "canary" not in page


def test_the_figures_can_be_downloaded(client: Client, cast: BenchmarkCast) -> None:
    scored(cast, cast.relations(), "=Net", 6, 3)
    lines = shown(client, "board-csv", "rel").splitlines()
    accuracy = next(line for line in lines if ",accuracy," in line).split(",")
    assert accuracy[2] == "'=Net"
    assert float(accuracy[5]) == pytest.approx(0.75)
    assert "attachment" in client.get(reverse("board-csv", args=["rel"]))["Content-Disposition"]


def test_only_organisers_create_benchmarks(client: Client, cast: BenchmarkCast) -> None:
    client.force_login(cast.kim)
    assert client.get(reverse("board-new")).status_code == 403
    cast.benchmark()
    assert client.get(reverse("setting-new", args=["rel"])).status_code == 403


def test_an_organiser_creates_a_benchmark_and_adds_a_setting(client: Client, cast: BenchmarkCast) -> None:
    gold = freeze("gold", RELATION_GOLD, by=cast.olga)
    client.force_login(cast.olga)
    fields = {
        "title": "Port news",
        "slug": "port",
        "task": "relations",
        "test_sets": [gold.pk],
        "missing": "refuse",
    }
    response = client.post(reverse("board-new"), fields)
    assert response.headers["Location"] == reverse("setting-new", args=["port"])
    fields = {"title": "Human gold", "key": "human", "test_set": gold.pk, "unit": "bag", "main": "ap"}
    response = client.post(reverse("setting-new", args=["port"]), fields)
    assert response.headers["Location"] == reverse("board-organise", args=["port"])
    setting = Benchmark.objects.get(slug="port").settings.get()
    assert (setting.unit, setting.main, setting.test_set) == ("bag", "ap", gold)


def test_a_measure_of_another_unit_is_rejected_at_its_field(client: Client, cast: BenchmarkCast) -> None:
    gold = freeze("gold", RELATION_GOLD, by=cast.olga)
    creation.create(slug="port", title="Port", task="relations", labels=["born_in"], by=cast.olga)
    client.force_login(cast.olga)
    fields = {"title": "Human", "key": "human", "test_set": gold.pk, "unit": "bag", "main": "semeval2010_f1"}
    response = client.post(reverse("setting-new", args=["port"]), fields)
    assert response.status_code == 400
    assert "main" in response.context["form"].errors


def test_the_list_names_the_leader(client: Client, cast: BenchmarkCast) -> None:
    scored(cast, cast.relations(main="accuracy"), "Net", 3)
    page = shown(client, "boards")
    assert "“Net”, 50.0" in page
    assert "1 system, 1 run" in page


# ---- as the setting shows them -------------------------------------------------------------------
def test_a_board_rounds_to_the_digits_of_its_setting(client: Client, cast: BenchmarkCast) -> None:
    benchmark = cast.relations(main="accuracy")
    (submission, _) = scored(cast, benchmark, "Alder", 4, 5)
    creation.change_setting(benchmark.settings.get(), by=cast.olga, digits=3)
    page = shown(client, "board", "rel")
    assert '75.000 <small class="sd">± 11.785</small>' in page
    assert "75.000 ± 11.785" in summary_of(client)
    assert "“Alder”, 75.000" in shown(client, "boards")
    client.force_login(cast.kim)
    assert "accuracy 66.667" in shown(client, "submission", submission.pk)
    assert "66.667<br><small>accuracy</small>" in shown(client, "team", "kelpie")


def test_lower_is_better_is_stated_wherever_the_board_is_shown(client: Client, cast: BenchmarkCast) -> None:
    benchmark = cast.relations(main="accuracy")
    scored(cast, benchmark, "Alder", 6, 6)
    scored(cast, benchmark, "Birch", 2, 2)
    creation.change_setting(benchmark.settings.get(), by=cast.olga, lower_is_better=True)
    page = shown(client, "board", "rel")
    summary = summary_of(client)
    assert summary.startswith("“Birch” has 33.3 accuracy, “Alder” 100.0; nothing is claimed: ")
    assert 'aria-sort="ascending"' in page
    assert "accuracy ↓" in page
    assert "“Birch”, 33.3" in shown(client, "boards")


def test_rows_are_those_that_the_setting_scores(client: Client, cast: BenchmarkCast) -> None:
    few = freeze("few", RELATION_GOLD[:2], by=cast.olga)
    whole = freeze("whole", RELATION_GOLD, by=cast.olga)
    cast.benchmark(settings=[("main", whole, "sentence", "micro_f1", few)])
    assert re.search(r"<dt>Items</dt>\s*<dd>2 sentences</dd>", shown(client, "board", "rel"))
    client.force_login(cast.kim)
    assert client.get("/api/v1/benchmarks/rel").json()["settings"][0]["rows"] == 2


def test_a_threshold_orders_nothing(client: Client, cast: BenchmarkCast) -> None:
    cast.submit(cast.relations("bag", "ap"), SCORE_LINES)
    assert run_next("score")
    page = shown(client, "board", "rel")
    assert '<option value="ap"' in page
    assert '<option value="tau"' not in page
    response = client.get(reverse("board", args=["rel"]), {"order": "tau"})
    assert response.status_code == 400
    assert "threshold" in response.content.decode()


CONSTANT: list[Line] = [
    {"id": line["id"], "scores": {"born_in": 0.5, "works_for": 0.5}} for line in RELATION_GOLD
]


def test_an_area_that_ties_carry_orders_no_board(client: Client, cast: BenchmarkCast) -> None:
    benchmark = cast.relations("bag", "ap")
    cast.submit(benchmark, SCORE_LINES, system="Alder")
    cast.submit(benchmark, CONSTANT, system="Birch")
    while run_next("score"):
        pass
    page = shown(client, "board", "rel")
    assert '<option value="auc"' not in page
    for text in (page, shown(client, "board-view-file", "rel", "tex").replace("\\%", "%")):
        assert "Share of the AUC that lies under tied scores, which raise it: “Birch” 100.0 %" in text
    assert "should not order a board" not in page
    response = client.get(reverse("board", args=["rel"]), {"order": "auc"})
    assert response.status_code == 400
    assert "average precision" in response.content.decode()


def test_a_new_setting_cannot_be_ordered_by_the_area(cast: BenchmarkCast) -> None:
    benchmark = cast.relations("bag", "ap")
    test_set, new = benchmark.settings.get().test_set, {"key": "new-one", "title": "New", "unit": "bag"}
    with pytest.raises(DomainError, match="AUC orders no board") as refused:
        creation.add_setting(benchmark, test_set=test_set, main="auc", by=cast.olga, **new)
    assert "average precision" in refused.value.hint
    with pytest.raises(DomainError, match="AUC orders no board"):
        creation.change_setting(benchmark.settings.get(), by=cast.olga, main="auc")


def test_an_existing_setting_keeps_the_area_with_a_notice(client: Client, cast: BenchmarkCast) -> None:
    benchmark = cast.relations("bag", "ap")
    benchmark.settings.update(main="auc")
    cast.submit(benchmark, CONSTANT, system="Birch")
    assert run_next("score")
    page = shown(client, "board", "rel")
    assert "The main measure, AUC, should not order a board." in page
    assert '<option value="auc" selected' in page
    changed = creation.change_setting(benchmark.settings.get(), by=cast.olga, title="Renamed")
    assert (changed.main, changed.title) == ("auc", "Renamed")
    client.force_login(cast.olga)
    form = client.get(reverse("setting-change", args=["rel", "main"])).content.decode()
    assert '<option value="auc" selected' in form


def test_a_board_has_a_column_for_each_chosen_measure(client: Client, cast: BenchmarkCast) -> None:
    benchmark = cast.relations("bag", "ap")
    cast.submit(benchmark, SCORE_LINES)
    assert run_next("score")
    shown_by_all = shown(client, "board", "rel")
    assert "order=recall_at_tau" not in shown_by_all
    chosen = ["recall_at_tau", "ap", "tau"]
    creation.change_setting(benchmark.settings.get(), by=cast.olga, measures=chosen)
    page = shown(client, "board", "rel")
    assert "order=recall_at_tau" in page
    assert re.search(r">\s*τ\*\s*</th>", page)
    assert "order=tau" not in page
    assert "order=auc" not in page
    client.force_login(cast.kim)
    sheet = shown(client, "submission", Submission.objects.get().pk)
    assert sheet.index("recall at τ*") < sheet.index("further measure")
    assert sheet.index(">AUC<") > sheet.index("further measure")


def chips(page: str) -> list[str]:
    """Return the warnings beside systems."""
    return re.findall(r'chip--warn"[^>]*>([^<]*)<', page)


def test_runs_with_identical_files_are_marked(client: Client, cast: BenchmarkCast) -> None:
    benchmark = cast.relations(main="accuracy")
    scored(cast, benchmark, "Alder", 4, 4, 5)
    scored(cast, benchmark, "Birch", 5)
    scored(cast, benchmark, "Cedar", 6)
    page = shown(client, "board", "rel")
    birch, alder = chips(page)
    assert alder == "run 2 equals run 1; same answers as “Birch”"
    assert "Alder" in birch
    rows = client.get(reverse("board-json", args=["rel"])).json()["rows"]
    assert {row["system"]: [each["system"] for each in row["same_answers"]] for row in rows} == {
        "Alder": ["Birch"],
        "Birch": ["Alder"],
        "Cedar": [],
    }
    view = client.get(reverse("board-view-file", args=["rel", "csv"])).content.decode()
    marks = {line["system"]: line["same_answers"] for line in csv.DictReader(view.splitlines())}
    assert (marks["Alder"], marks["Cedar"]) == ("same answers as “Birch”", "")
    table = client.get(reverse("board-view-file", args=["rel", "md"])).content.decode()
    assert "“Birch”: same answers as “Alder”." in table
    assert [row["equal_runs"] for row in rows if row["system"] == "Alder"] == [[{"run": "2", "equals": "1"}]]
    assert {row["system"]: (row["n"], row["files"]) for row in rows} == {
        "Alder": (2, 2),
        "Birch": (1, 1),
        "Cedar": (1, 1),
    }


def test_a_team_that_saw_the_gold_is_marked(client: Client, cast: BenchmarkCast) -> None:
    scored(cast, cast.relations(), "Alder", 4)
    assert chips(shown(client, "board", "rel")) == []
    Submission.objects.update(saw_gold=True)
    assert len(chips(shown(client, "board", "rel"))) == 1


def test_a_description_keeps_headings_tables_and_image_texts(client: Client, cast: BenchmarkCast) -> None:
    fields = (
        "# Tides\n\n## Source\n\n| a | b |\n|---|---|\n| 1 | <b>2</b> |\n\n![Map](https://x.example/a.png)"
    )
    benchmark = cast.relations()
    Benchmark.objects.filter(pk=benchmark.pk).update(description=fields)
    page = client.get(f"/boards/{benchmark.slug}/").content.decode()
    assert "<h3>Tides</h3><h4>Source</h4>" in page
    assert re.search(r"<td>1</td>\s*<td>&lt;b&gt;2&lt;/b&gt;</td>", page)
    assert "<p>Map</p>" in page
    assert "a.png" not in page


def test_marked_systems_stay_marked_on_other_pages(
    client: Client, cast: BenchmarkCast, monkeypatch: pytest.MonkeyPatch
) -> None:
    benchmark = cast.relations()
    for system, right in (("Alder", 5), ("Birch", 4)):
        scored(cast, benchmark, system, right)
    monkeypatch.setattr(boards, "ROWS", 1)
    marks = {"systems": ["kelpie/Birch", "kelpie/Alder", "kelpie/Lost"]}
    first = client.get(reverse("board", args=["rel"]), marks)
    assert (first.context["marked"], first.context["marked_elsewhere"]) == (
        ["kelpie/Birch", "kelpie/Alder"],
        ["kelpie/Birch"],
    )
    page = first.content.decode()
    assert len(re.findall(r'name="systems"[^>]* checked', page)) == 2
    assert "page=2&amp;systems=kelpie%2FBirch&amp;systems=kelpie%2FAlder" in page
    assert (
        "?setting=main&amp;systems=kelpie%2FAlder"
        in client.get(
            reverse("board-compare", args=["rel"]), {"systems": marks["systems"][:2]}
        ).content.decode()
    )
