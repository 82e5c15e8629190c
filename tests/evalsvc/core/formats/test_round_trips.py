"""Documents go out in every format and come back, equal where the format can hold them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from evalsvc.core.formats import cas_xmi, extras
from evalsvc.core.formats.brat import join
from evalsvc.core.formats.documents import Offsets, document, tokenised
from evalsvc.core.formats.label_list import read_labels
from evalsvc.core.formats.problems import FileRejected, Problems
from evalsvc.core.formats.readers import open_gold, open_items, open_votes
from evalsvc.core.formats.records import ItemLine, canonical_line, item_object
from evalsvc.core.formats.registry import Export, formats, recognise_source, written_formats
from evalsvc.core.formats.tag_schemes import SCHEMES, decode_tags, encode_tags
from evalsvc.core.formats.text_lines import Limits

# A trap in each, named by its id.
DOCUMENTS: list[dict[str, Any]] = [
    {"id": "nested", "text": "The College of Nether Wallop shut.", "spans": [[4, 28, "ORG"], [15, 28, "LOC"]],
     "relations": [[0, "based_in", 1]]},
    {"id": "crossing", "text": "At the Red Lake Dam Trust now.", "spans": [[7, 19, "LOC"], [16, 25, "ORG"]],
     "relations": [[1, "based_in", 0]]},
    {"id": "twice", "text": "Oslo beat Bergen.", "spans": [[0, 4, "LOC"], [0, 4, "ORG"], [10, 16, "ORG"]],
     "relations": [[1, "based_in", 0], [2, "knows", 1]]},
    {"id": "emoji", "text": "🚀 Ada 👩‍🚀 met 𝔅o 🎉.", "spans": [[2, 5, "PER"], [14, 16, "PER"]],
     "relations": [[0, "knows", 1]]},
    {"id": "marks", "text": "Rene\u0301 left Sa\u0303o.", "spans": [[0, 5, "PER"], [11, 15, "LOC"]],
     "relations": []},
    {"id": "hebrew", "text": "דנה גרה בחיפה\u200f.", "spans": [[0, 3, "PER"], [9, 13, "LOC"]],
     "relations": [[0, "based_in", 1]]},
    {"id": "empty", "text": "", "spans": [], "relations": []},
    {"id": "lines", "text": "Dear Bo,\r\nX & \"Y\" <Ltd>\tships.\r\n",
     "spans": [[5, 7, "PER"], [10, 23, "ORG"]],
     "relations": [[0, "knows", 1]]},
    {"id": "nothing", "text": "Nothing\u2028happened.", "spans": [], "relations": []},
    {"id": "touching", "text": "東京大阪線。", "spans": [[0, 2, "LOC"], [2, 4, "LOC"]],
     "relations": [[1, "knows", 0]]},
    {"id": "both", "text": "Ada met Bo; Bo met Ada.",
     "spans": [[0, 3, "PER"], [8, 10, "PER"], [12, 14, "PER"]],
     "relations": [[0, "knows", 1], [1, "knows", 0], [0, "knows", 2]]},
    {"id": "across", "text": "Ada came.\n\nShe wrote \"Rain\".",
     "spans": [[0, 3, "PER"], [21, 27, "WORK-OF-ART"]],
     "relations": [[0, "author_of", 1]]},
    {"id": "tokens", "tokens": ["Ada", "lives", "in", "Turin"], "spans": [[0, 1, "PER"], [3, 4, "LOC"]],
     "relations": [[0, "based_in", 1]]},
]  # fmt: skip
PAIRS: list[dict[str, Any]] = [
    {"id": "p1", "text": "Ada was born in Turin.",
     "h": {"id": "Q1", "name": "Ada", "pos": [0, 3], "type": "PER"},
     "t": {"id": "Q2", "name": "Turin", "pos": [16, 21], "type": "LOC"}, "relations": ["born_in"]},
    {"id": "p2", "text": "Turin, says Ada.", "h": {"id": "Q1", "name": "Ada", "pos": [12, 15], "type": "PER"},
     "t": {"id": "Q2", "name": "Turin", "pos": [0, 5], "type": "LOC"}, "relations": []},
    {"id": "p3", "text": "𝔅o of Oslo City", "h": {"id": "Q3", "name": "𝔅o", "pos": [0, 2], "type": "PER"},
     "t": {"id": "Q4", "name": "Oslo City", "pos": [6, 15], "type": "LOC"},
      "relations": ["lives_in", "born_in"]},
    {"id": "p4", "text": "Oslo City\nhall",
     "h": {"id": "Q4", "name": "Oslo City", "pos": [0, 9], "type": "LOC"},
     "t": {"id": "Q5", "name": "Oslo", "pos": [0, 4], "type": "LOC"}, "relations": ["part_of"]},
]  # fmt: skip
TYPES = ["PER", "ORG", "LOC", "WORK-OF-ART"]
RELATIONS = ["based_in", "knows", "author_of", "born_in", "lives_in", "part_of"]
BY_ID = {each["id"]: each for each in DOCUMENTS}


def written(
    format: str, golds: list[dict[str, Any]], **options: Any
) -> tuple[dict[str, bytes], dict[str, int]]:
    """The files of a format, and what was lost."""
    export = Export("set", "A set", TYPES, RELATIONS, **options)
    writer = formats()[format].writer
    assert writer is not None
    assert writer.write is not None
    documents = [found for gold in golds if (found := document(gold)) is not None]
    files = {name: b"".join(pieces) for name, pieces in writer.write(documents, export)}
    return files, {name: n for name, n in export.lost.items() if n}


def read(data: bytes, format: str, **options: Any) -> list[ItemLine]:
    problems = Problems()
    items = [item for _, item in open_items(data, format=format, problems=problems, **options)]
    problems.raise_if_any()
    return items


def in_code_points(gold: dict[str, Any]) -> tuple[Any, ...]:
    """Text, spans and relations of a line, in code points."""
    found = document(gold)
    assert found is not None
    spans = sorted(found.spans)
    links = sorted((found.spans[head], name, found.spans[tail]) for head, name, tail in found.links)
    return found.id, found.text, spans, links


def in_tokens(gold: dict[str, Any]) -> tuple[Any, ...]:
    found = document(gold)
    assert found is not None
    links = sorted((found.token_spans[a], name, found.token_spans[b]) for a, name, b in found.links)
    return found.id, found.tokens, sorted(found.token_spans), links


def of_item(item: ItemLine) -> tuple[Any, ...]:
    return in_code_points(item_object(item)) if item.tokens is None else in_tokens(item_object(item))


@pytest.mark.parametrize("unit", ["utf16", "graphemes", "code-points"])
def test_doccano_returns_every_document_in_each_unit(unit: str) -> None:
    files, _ = written("doccano", DOCUMENTS, unit=unit)
    data = files["set.jsonl"]
    assert recognise_source(data) == "doccano"
    assert [of_item(item) for item in read(data, "doccano", unit=unit)] == list(
        map(in_code_points, DOCUMENTS)
    )


def test_a_span_within_a_grapheme_cluster_is_widened_to_it_and_counted() -> None:
    text = "e\u0301a Zoe 👨\u200d👩\u200d👧 ran"
    documents = [
        {"id": name, "text": text, "spans": spans}
        for name, spans in (
            ("d1", [[0, 1, "PER"], [8, 9, "LOC"], [14, 17, "PER"]]),
            ("d2", [[1, 2, "PER"], [10, 13, "LOC"]]),
        )
    ]
    files, lost = written("doccano", documents, unit="graphemes")
    assert lost == {"spans that begin or end within a grapheme cluster (they have all of it)": 4}
    found = [item.spans or () for item in read(files["set.jsonl"], "doccano", unit="graphemes")]
    whole = ((0, 2, "PER"), (8, 13, "LOC"))
    assert found == [(*whole, (14, 17, "PER")), whole]
    _, lost = written("doccano", documents, unit="utf16")
    assert lost == {}


@pytest.mark.parametrize(("format", "file"), [("label-studio", "set.json"), ("csv-documents", "set.csv")])
def test_formats_of_code_points_return_every_document(format: str, file: str) -> None:
    files, lost = written(format, DOCUMENTS)
    assert (recognise_source(files[file]), lost) == (format, {})
    assert [of_item(item) for item in read(files[file], format)] == list(map(in_code_points, DOCUMENTS))


def test_a_long_document_returns_from_csv() -> None:
    long = BY_ID["nothing"] | {"text": "word " * 30_000}  # longer than the standard library expects
    files, _ = written("csv-documents", [long])
    assert list(map(of_item, read(files["set.csv"], "csv-documents"))) == [in_code_points(long)]


def test_spert_returns_every_document_in_tokens() -> None:
    files, lost = written("spert", DOCUMENTS)
    assert (recognise_source(files["set.json"]), lost) == ("spert", {})
    assert [of_item(item) for item in read(files["set.json"], "spert")] == list(map(in_tokens, DOCUMENTS))


def test_dygie_loses_relations_across_sentences_alone() -> None:
    files, lost = written("dygie", DOCUMENTS)
    twins = "linked spans with the bounds of another (relations can't tell them apart)"
    assert lost == {"relations across sentences": 1, twins: 2}
    items = {item.id: of_item(item) for item in read(files["set.jsonl"], "dygie")}
    whole = {"across", "twice"}  # in the second one, bounds name two spans
    assert {k: v for k, v in items.items() if k not in whole} == {
        gold["id"]: in_tokens(gold) for gold in DOCUMENTS if gold["id"] not in whole
    }
    assert items["across"][:3] == in_tokens(BY_ID["across"])[:3]


def test_dygie_loses_nothing_of_entities_alone() -> None:
    entities = [{key: part for key, part in gold.items() if key != "relations"} for gold in DOCUMENTS]
    files, lost = written("dygie", entities)
    assert not lost
    spans = [item.spans for item in read(files["set.jsonl"], "dygie")]
    assert spans == [tuple(document(gold).token_spans) for gold in entities]


def test_docred_joins_mentions_of_the_same_words_to_entities() -> None:
    files, lost = written("docred", DOCUMENTS)
    (both,) = [each for each in json.loads(files["set.json"]) if each["title"] == "both"]
    assert [[m["pos"] for m in vertex] for vertex in both["vertexSet"]] == [[[0, 1]], [[2, 3], [4, 5]]]
    assert lost == {"relations of mentions whose entities have the relation already": 1}
    items = {item.id: of_item(item) for item in read(files["set.json"], "docred")}
    assert {k: v for k, v in items.items() if k != "both"} == {
        gold["id"]: in_tokens(gold) for gold in DOCUMENTS if gold["id"] != "both"
    }


def test_brat_returns_every_document_from_its_two_files() -> None:
    files, lost = written("brat", DOCUMENTS)
    assert lost == {}
    back = [
        of_item(item)
        for gold in DOCUMENTS
        for item in read(
            join(files[f"{gold['id']}.txt"], files[f"{gold['id']}.ann"]), "brat", name=gold["id"]
        )
    ]
    assert back == list(map(in_code_points, DOCUMENTS))


def test_brat_refuses_spans_of_several_parts_by_line() -> None:
    with pytest.raises(FileRejected) as error:
        read(join(b"left and right banks", b"T1\tLOC 0 4;15 20\tleft banks\n"), "brat")
    (problem,) = error.value.problems.first
    assert (problem.code, problem.line) == ("discontinuous_span", 1)


def test_a_slice_that_is_not_the_text_is_refused() -> None:
    with pytest.raises(FileRejected) as error:
        read(join("𝔅o and Ada".encode(), b"T1\tPER 8 11\tAda\n"), "brat")  # UTF-16 units
    assert error.value.problems.first[0].code == "wrong_words"


def test_webanno_tsv_returns_what_stands_in_sentences() -> None:
    files, lost = written("webanno-tsv", DOCUMENTS)
    assert lost == {"documents with text between sentences, such as blank lines": 2}
    for gold in DOCUMENTS:
        (item,) = read(files[f"annotation/{gold['id']}.txt/gold.tsv"], "webanno-tsv", name=gold["id"])
        name, text, spans, links = in_code_points(gold)
        assert of_item(item) == (name, text.removesuffix("\r\n"), spans, links)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_conll_returns_flat_spans_in_each_scheme(scheme: str) -> None:
    files, lost = written("conll", DOCUMENTS, scheme=scheme)
    assert lost == {"overlapping spans": 3, "relations": 13, "documents without tokens": 1}
    items = read(files["set.conll"], "conll", scheme=scheme)
    found = [document(gold) for gold in DOCUMENTS if gold["id"] != "empty"]
    assert [item.spans for item in items] == [each.flat_spans for each in found if each]
    assert [item.tokens for item in items] == [each.tokens for each in found if each]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_tags_of_touching_entities_are_read_as_written(scheme: Any) -> None:
    spans = [(0, 1, "A"), (1, 3, "A"), (3, 4, "B"), (5, 8, "A")]
    assert decode_tags(encode_tags(spans, 9, scheme), scheme, repair="strict") == (spans, [])


def test_rows_of_hugging_face_need_the_names_of_their_card() -> None:
    files, lost = written("hf-jsonl", DOCUMENTS)
    assert lost == {"overlapping spans": 3, "relations": 13}
    assert b'"list": {"class_label": {"names": {"0": "O", "1": "B-PER"' in files["README.md"]
    names = ["O", *(f"{prefix}-{name}" for name in TYPES for prefix in "BI")]
    items = read(files["test.jsonl"], "hf-jsonl", names=names)
    assert [item.spans for item in items] == [
        found.flat_spans for gold in DOCUMENTS if (found := document(gold))
    ]
    with pytest.raises(FileRejected) as error:
        read(files["test.jsonl"], "hf-jsonl")
    assert error.value.problems.first[0].code == "no_names"


def pair_of(item: ItemLine) -> dict[str, Any]:
    return json.loads(canonical_line(item_object(item)))  # lists, as in the file


@pytest.mark.parametrize(
    ("format", "file"), [("label-studio", "set.json"), ("csv-documents", "set.csv"), ("doccano", "set.jsonl")]
)
def test_pairs_return_with_the_types_of_head_and_tail(format: str, file: str) -> None:
    files, lost = written(format, PAIRS)
    options = {"unit": "utf16"} if format == "doccano" else {}
    items = [pair_of(item) for item in read(files[file], format, **options)]
    for item in items:
        item["relations"] = [name for name in item["relations"] if name != "no_relation"]
    assert (items, lost) == (PAIRS, {})


def test_tacred_keeps_types_and_one_relation() -> None:
    files, lost = written("tacred", PAIRS)
    assert lost == {"further relations of a pair": 1, "ids of entities": 8}
    items = read(files["set.json"], "tacred")
    ends = [(item.head, item.tail) for item in items]
    assert [(head and head.type, tail and tail.type) for head, tail in ends] == [("PER", "LOC")] * 3 + [
        ("LOC", "LOC")
    ]
    assert [head and head.name for head, _ in ends] == ["Ada", "Ada", "𝔅o", "Oslo City"]
    assert [item.relations for item in items] == [("born_in",), ("no_relation",), ("lives_in",), ("part_of",)]


def test_semeval_writes_the_direction_and_leaves_out_what_it_cannot_mark() -> None:
    files, lost = written("semeval-test", PAIRS)
    ends = {"types of entities": 6, "ids of entities": 6}
    assert lost == {"further relations of a pair": 1, "pairs that overlap": 1, **ends}
    text = files["set.txt"].decode()
    assert '1\t"<e1>Ada</e1> was born in <e2>Turin</e2>."\nborn_in(e1,e2)\nComment: p1\n\n' in text
    assert '2\t"<e1>Turin</e1>, says <e2>Ada</e2>."\nOther\nComment: p2\n\n' in text
    assert len(read(files["set.txt"], "semeval-test")) == 3


def test_opennre_writes_a_line_per_label() -> None:
    files, _ = written("opennre-gold", PAIRS)
    items = read(files["set.txt"], "opennre-gold")
    assert [item.relations for item in items] == [
        ("born_in",),
        ("NA",),
        ("lives_in",),
        ("born_in",),
        ("part_of",),
    ]
    assert items[0].head is not None
    assert items[0].head.type == "PER"
    assert json.loads(files["rel2id.json"])["NA"] == 0


def test_nyt10_joins_the_words_of_mentions() -> None:
    files, lost = written("nyt10", PAIRS)
    assert lost == {"pairs that overlap": 1, "types of entities": 6}
    assert "Q3\tQ4\t𝔅o\tOslo_City\tlives_in\t𝔅o of Oslo_City\t###END###\n" in files["set.txt"].decode()
    assert [item.relations for item in read(files["set.txt"], "nyt10")] == [
        ("born_in",), ("NA",), ("lives_in",), ("born_in",),
    ]  # fmt: skip


def test_names_joined_by_underscores_are_found_in_a_sentence_that_does_not_join_them() -> None:
    data = b"Q1\tQ2\tIda_Holm\tOslo\tborn_in\tIda Holm left Oslo .\t###END###\n"
    (item,) = read(data, "nyt10")
    assert (item.head and (item.head.name, item.head.start, item.head.end)) == ("Ida Holm", 0, 8)


def test_a_unit_is_asked_only_where_it_matters() -> None:
    plain = b'{"id":1,"text":"Ada met Bo","label":[[0,3,"PER"]],"Comments":[]}\n'
    assert read(plain, "doccano")[0].spans == ((0, 3, "PER"),)
    unclear = '{"id":1,"text":"🚀 Ada met Bo","label":[[2,5,"PER"]],"Comments":[]}\n'.encode()
    with pytest.raises(FileRejected) as error:
        read(unclear, "doccano")
    problem = error.value.problems.first[0]
    assert problem.code == "no_unit"
    assert "utf16 “ Ad”, graphemes “Ada”, code-points “Ada”" in problem.sentence()
    assert read(unclear, "doccano", unit="code-points")[0].spans == ((2, 5, "PER"),)
    problems = Problems()
    list(open_items(unclear, format="doccano", problems=problems, unit="utf16"))
    assert problems.warnings["cut_word"] == 1  # " Ad" ends within a word


def test_every_persons_annotation_is_a_vote() -> None:
    task: dict[str, Any] = {
        "id": 7,
        "data": {"text": "Ada met Bo", "doc_id": "d1"},
        "annotations": [
            {"completed_by": 1, "result": [
                {"id": "a", "type": "labels",
                 "value": {"start": 0, "end": 3, "text": "Ada", "labels": ["PER"]}},
                {"id": "b", "type": "labels",
                 "value": {"start": 8, "end": 10, "text": "Bo", "labels": ["PER"]}},
                {"type": "relation", "from_id": "b", "to_id": "a", "direction": "left",
                 "labels": ["knows"]}]},
            {"completed_by": {"id": 2, "email": "ben@lab.example"}, "result": []},
            {"completed_by": 3, "was_cancelled": True, "result": []},
        ],
    }  # fmt: skip
    problems = Problems()
    votes = [v for _, v in open_votes(json.dumps([task]).encode(), format="label-studio", problems=problems)]
    assert [(vote.item, vote.annotator, vote.na) for vote in votes] == [
        ("d1", "1", False), ("d1", "ben@lab.example", True),
    ]  # fmt: skip
    assert votes[0].payload["relations"] == [[0, "knows", 1]]
    options: dict[str, Any] = {"format": "label-studio", "with_text": True}
    problems = Problems()
    assert [*open_gold(json.dumps([task]).encode(), problems=problems, **options)] == []
    assert [(each.code, each.line, each.value) for each in problems.first] == [
        ("several_answers", 1, "2 annotations")
    ]
    task["annotations"][1]["ground_truth"] = True
    ((_, item),) = open_gold(json.dumps([task]).encode(), problems=Problems(), **options)
    assert (item.text, item.spans, item.relations) == ("Ada met Bo", (), ())


def test_a_file_of_doccano_is_the_answers_of_the_person_it_is_named_after() -> None:
    lines = [
        {"id": 1, "text": "🚀 Ada met Bo", "doc_id": "d1",
         "entities": [{"id": 7, "label": "PER", "start_offset": 3, "end_offset": 6},
                      {"id": 8, "label": "PER", "start_offset": 11, "end_offset": 13}],
         "relations": [{"id": 1, "from_id": 8, "to_id": 7, "type": "knows"}], "Comments": []},
        {"id": 2, "text": "Rain.", "doc_id": "d2", "entities": [], "relations": [], "Comments": []},
    ]  # fmt: skip
    data = "".join(json.dumps(line) + "\n" for line in lines).encode()
    options: dict[str, Any] = {"format": "doccano", "name": "ben", "unit": "utf16"}
    problems = Problems()
    ((_, vote),) = open_votes(data, problems=problems, **options)
    assert (vote.item, vote.annotator, vote.na) == ("d1", "ben", False)
    assert vote.payload == {"spans": [[2, 5, "PER"], [10, 12, "PER"]], "relations": [[1, "knows", 0]]}
    assert problems.warnings["empty_cell"] == 1
    votes = [vote for _, vote in open_votes(data, problems=Problems(), empty="no-label", **options)]
    assert [(vote.item, vote.na) for vote in votes] == [("d1", False), ("d2", True)]


def test_an_array_of_one_long_line_is_recognised_and_its_lines_are_named() -> None:
    files, _ = written("spert", DOCUMENTS * 450)
    flat = files["set.json"].replace(b"\n", b"")
    assert len(flat) > 1 << 20
    assert recognise_source(flat) == "spert"
    with pytest.raises(FileRejected) as error:
        read(
            b'[\n{"tokens":["a"],"entities":[]},\n{"tokens":["a"],"entities":[{"type":"P","start":0,"end":2}]}]',
            "spert",
        )
    assert error.value.problems.first[0].line == 3


def test_grapheme_clusters_are_counted_as_people_see_letters() -> None:
    for text, clusters in (
        ("e\u0301a", 2),
        ("👩\u200d🚀!", 2),
        ("\r\n", 1),
        ("🇳🇴🇸🇪", 2),
        ("각", 1),
        ("👍🏽", 1),
        ("각", 1),
    ):
        assert Offsets(text, "graphemes").to_unit(len(text)) == clusters, text


def test_tokens_are_cut_where_a_span_begins_or_ends() -> None:
    assert [("東京大阪線。"[a:b]) for a, b in tokenised("東京大阪線。", [(0, 2), (2, 4)])] == [
        "東京",
        "大阪",
        "線",
        "。",
    ]


@pytest.mark.parametrize(("format", "package"), [("cas-xmi", "dkpro-cassis"), ("hf-parquet", "pyarrow")])
def test_a_format_of_an_optional_package_names_it_when_it_is_missing(
    format: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda module: None)
    for use in (lambda: written(format, DOCUMENTS), lambda: read(b"", format)):
        with pytest.raises(FileRejected) as error:
            use()
        assert package in str(error.value)


def test_xmi_returns_every_document() -> None:
    files, _ = written("cas-xmi", DOCUMENTS)
    for gold in DOCUMENTS:
        (item,) = read(files[f"annotation/{gold['id']}.txt/gold.xmi"], "cas-xmi", name=gold["id"])
        assert of_item(item) == in_code_points(gold)


NER = b'xmlns:ner="http:///de/tudarmstadt/ukp/dkpro/core/api/ner/type.ecore" xmlns:custom='


@pytest.mark.parametrize(
    "named",
    [
        {b"/custom.ecore": b"/webanno/custom.ecore", b":Span": b":Name", b":Relation": b":Link",
         b" label=": b" kind="},
        {b"xmlns:custom=": NER, b"custom:Span": b"ner:NamedEntity", b" label=": b" value="},
    ],
)  # fmt: skip
def test_xmi_is_read_by_the_layers_that_a_project_has(named: dict[bytes, bytes]) -> None:
    gold = BY_ID["nested"]
    data = written("cas-xmi", [gold])[0]["annotation/nested.txt/gold.xmi"]
    for ours, theirs in named.items():
        data = data.replace(ours, theirs)
    (item,) = read(data, "cas-xmi", name="nested")
    assert of_item(item) == in_code_points(gold)


def test_files_with_several_layers_are_refused_with_their_names() -> None:
    files, _ = written("cas-xmi", [BY_ID["nested"]])
    first, rest = files["annotation/nested.txt/gold.xmi"].split(b"<custom:Span", 1)
    two = first + b"<custom:Other" + rest
    table = b"#FORMAT=WebAnno TSV 3.3\n#T_SP=custom.Span|label\n#T_SP=custom.Other|label\n"
    for data, format in ((two, "cas-xmi"), (table, "webanno-tsv")):
        with pytest.raises(FileRejected) as error:
            read(data, format)
        (problem,) = error.value.problems.first
        assert (problem.code, "custom.Other" in str(problem.value)) == ("several_layers", True)


def webanno_at(start: int) -> bytes:
    return f"#FORMAT=WebAnno TSV 3.3\n\n\n#Text=Ada\n1-1\t{start}-{start + 3}\tAda\t\n".encode()


def test_a_short_webanno_file_makes_no_long_text_by_the_place_of_its_sentence() -> None:
    (item,) = read(webanno_at(20), "webanno-tsv", name="a")
    assert item.text == "\n" * 20 + "Ada"
    with pytest.raises(FileRejected) as error:
        read(webanno_at(1_000), "webanno-tsv", name="a")
    assert "bad_span" in error.value.problems.by_code


@pytest.mark.parametrize("digits", [9, 5_000])
def test_an_offset_beyond_every_text_is_a_problem_of_its_line(digits: int) -> None:
    """Python reads no number of 5,000 digits, and line ends up to the other would fill a gigabyte."""
    far = "9" * digits
    table = f"#FORMAT=WebAnno TSV 3.3\n\n\n#Text=Ada\n1-1\t{far}-{far}\tAda\t\n".encode()
    text_bound = join(b"Ada", f"T1\tPER {far} {far}\tAda\n".encode())
    for data, format in ((table, "webanno-tsv"), (text_bound, "brat")):
        with pytest.raises(FileRejected) as error:
            read(data, format)
        assert error.value.problems.total == 1
    problems = Problems()
    with suppress(FileRejected):
        read_labels(f"born_in {far}\n".encode(), problems=problems)


def test_the_label_of_a_layer_with_several_features_is_its_value() -> None:
    layer = "#T_SP=de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity|identifier|value"
    rows = [
        "1-1\t0-3\tAda\t*[1]\tPER[1]\t",
        "1-2\t4-7\tvan\t*[1]\tPER[1]\t",
        "1-3\t8-10\tBo\thttp://q.example\tLOC\t",
    ]
    data = "\n".join(["#FORMAT=WebAnno TSV 3.3", layer, "", "", "#Text=Ada van Bo", *rows, ""]).encode()
    (item,) = read(data, "webanno-tsv")
    assert item.spans == ((0, 7, "PER"), (8, 10, "LOC"))


def test_xmi_with_entities_is_refused_before_it_is_parsed() -> None:
    bomb = b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "b">]><xmi:XMI xmlns:xmi="http://www.omg.org/XMI"/>'
    with pytest.raises(FileRejected) as error:
        read(bomb, "cas-xmi")
    assert error.value.problems.first[0].code == "bad_xml"


def test_rows_of_pairs_lose_types_and_ids_of_entities() -> None:
    _, lost = written("hf-jsonl", PAIRS)
    assert lost == {"further relations of a pair": 1, "types of entities": 8, "ids of entities": 8}


def test_parquet_has_the_rows_and_the_names() -> None:
    import io

    from pyarrow import parquet  # type: ignore[import-not-found]

    files, _ = written("hf-parquet", DOCUMENTS)
    table = parquet.read_table(io.BytesIO(files["test-00000-of-00001.parquet"]))
    rows, _ = written("hf-jsonl", DOCUMENTS)
    assert table.to_pylist() == [json.loads(line) for line in rows["test.jsonl"].splitlines()]
    assert b'"B-PER"' in table.schema.metadata[b"huggingface"]
    data = files["test-00000-of-00001.parquet"]
    assert recognise_source(data) == "hf-parquet"
    flat = [found.flat_spans for gold in DOCUMENTS if (found := document(gold))]
    assert [item.spans for item in read(data, "hf-parquet")] == flat
    with pytest.raises(FileRejected) as error:
        read(data[:-40], "hf-parquet")
    assert error.value.problems.first[0].code == "bad_binary"


def test_a_text_stored_once_in_parquet_counts_as_often_as_it_occurs() -> None:
    import io

    import pyarrow  # type: ignore[import-not-found]
    from pyarrow import parquet

    places = pyarrow.list_(pyarrow.int32(), 2)
    schema = pyarrow.schema(
        [("id", pyarrow.string()), ("text", pyarrow.string()), ("head", places), ("tail", places)]
    )
    rows = [{"id": f"s{n}", "text": "a" * 10_000, "head": [0, 1], "tail": [2, 3]} for n in range(200)]
    out = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist(rows, schema=schema), out)
    assert len(out.getvalue()) < 20_000
    limits = Limits(max_bytes=1 << 20)
    with pytest.raises(FileRejected) as error:
        read(out.getvalue(), "hf-parquet", limits=limits)
    assert error.value.problems.first[0].code == "too_large"
    assert len(read(out.getvalue(), "hf-parquet")) == 200


def test_xmi_of_many_tags_is_rejected_before_it_is_parsed() -> None:
    with pytest.raises(FileRejected) as error:
        read(b"<a>" + b"<a/>" * 50_000 + b"</a>", "cas-xmi")
    assert error.value.problems.first[0].code == "too_large"


def test_every_format_of_exports_says_what_it_holds() -> None:
    for format in written_formats().values():
        writer = format.writer
        assert writer is not None
        assert set(writer.kinds) <= {"relations", "entities", "joint"}
        assert writer.unit
        assert bool(writer.extra) is (format.key in ("cas-xmi", "hf-parquet"))


def test_the_web_loads_no_optional_package_for_the_table_of_formats() -> None:
    code = (
        "from evalsvc.core.formats.registry import written_formats; written_formats(); import sys; "
        "print({'cassis', 'pyarrow', 'spacy', 'numpy'} & sys.modules.keys())"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "set()"


@pytest.mark.parametrize(
    "pack",
    [
        lambda text: text.encode("utf-16-le"),
        lambda text: text.encode("utf-16-be"),
        lambda text: text.encode("utf-32-le"),
        lambda text: f'<?xml version="1.0" encoding="UTF-7"?>{text.replace("<!", "+ADwAIQ-")}'.encode(),
        lambda text: f"<?xml version='1.0' encoding = 'utf-16'?>{text}".encode(),
    ],
)
def test_xmi_in_another_encoding_is_rejected_before_it_is_parsed(pack: Callable[[str], bytes]) -> None:
    problems = Problems()
    with pytest.raises(FileRejected):
        list(cas_xmi.read(pack('<!DOCTYPE a [<!ENTITY x "inside">]><a>&x;</a>'), problems=problems))
    assert set(problems.by_code) <= {"not_utf8", "nul_character"}
