"""Kinds of problems of a file by code: message, example, and whether the value is copied from the file."""

from __future__ import annotations

from typing import NamedTuple


class ProblemKind(NamedTuple):
    """The message of a problem code, and an example of the fix.

    With `use_file_line`, a correct line of the file at hand replaces the example.
    """

    message: str
    example: str
    use_file_line: bool = True
    warning: bool = False


LABEL = '{"id": "s1", "label": "born_in"}'
MENTION = '"h": {"name": "Ada", "pos": [0, 3]}'
KINDS: dict[str, ProblemKind] = {
    # The file as a whole: reading stops.
    "not_utf8": ProblemKind(
        "The file is not UTF-8 text.", "iconv -f WINDOWS-1252 -t UTF-8 FILE > FILE.utf8", False
    ),
    "nul_character": ProblemKind(
        "The text contains a NUL character.", "iconv -f UTF-16 -t UTF-8 FILE > FILE.utf8", False
    ),
    "empty_file": ProblemKind("The file has no content.", LABEL),
    "too_large": ProblemKind("The unpacked file is too large.", "split -l 100000 FILE", False),
    "too_many_lines": ProblemKind("The file has too many lines.", "sort -u FILE | wc -l", False),
    "line_too_long": ProblemKind("The line is too long.", "jq -c '.[]' FILE > FILE.jsonl", False),
    "bad_gzip": ProblemKind(
        "The gzip data is damaged or truncated.", "gzip -c FILE > FILE.gz && gzip -t FILE.gz", False
    ),
    "unknown_format": ProblemKind("The content matches none of the accepted formats.", LABEL),
    # One line of JSON.
    "not_json": ProblemKind("The line is not a JSON object.", LABEL),
    "lone_surrogate": ProblemKind("The text contains half of a surrogate pair.", LABEL),
    "unknown_key": ProblemKind("The object has an unknown key.", LABEL),
    "missing_key": ProblemKind("The object lacks a required key.", LABEL),
    "duplicate_key": ProblemKind("The object has the same key twice.", LABEL),
    "wrong_type": ProblemKind("The value has the wrong type or length.", LABEL),
    "mixed_forms": ProblemKind("The form of the line does not fit here.", LABEL),
    # Columns.
    "wrong_columns": ProblemKind("The line does not have the columns of this format.", "Turin\tB-place"),
    "no_scheme": ProblemKind(
        "The tag scheme is missing. The same tags mean different spans in different schemes.",
        '{"scheme": "IOB2"}',
        False,
    ),
    "bad_tag": ProblemKind("The tag is not part of the tag scheme.", "Turin\tB-place"),
    "repaired_tag": ProblemKind(
        "An entity lacks its beginning or end in the tag scheme. It was read as an entity.",
        "Turin\tB-place",
        False,
        warning=True,
    ),
    "dropped_tag": ProblemKind(
        "An entity lacks its beginning or end in the tag scheme. It was dropped.",
        "Turin\tB-place",
        False,
        warning=True,
    ),
    "other_scheme": ProblemKind(
        "The tag scheme and its repair drop more entities than they keep.",
        '{"scheme": "IOB1"}',
        False,
    ),
    "bad_block": ProblemKind(
        "The block of lines is incomplete.", '8001\t"The <e1>letter</e1> was about <e2>tides</e2>."', False
    ),
    # Matrices.
    "bad_npy": ProblemKind(
        "The array file is damaged or of an unsupported type.",
        'numpy.save("scores.npy", numpy.ascontiguousarray(scores, dtype="float32"))',
        False,
    ),
    "wrong_shape": ProblemKind(
        "The array does not have the rows and columns of this benchmark.",
        "scores.shape == (sentences, labels)",
        False,
    ),
    # Text and spans.
    "bad_span": ProblemKind(
        "The span is empty or outside the text.", '{"id": "s1", "spans": [[0, 1, "person"]]}'
    ),
    "bad_reference": ProblemKind(
        "The relation refers to a span that does not exist.",
        '{"id": "s1", "spans": [[0, 1, "p"], [3, 4, "q"]], "relations": [[0, "at", 1]]}',
    ),
    "duplicate_span": ProblemKind(
        "The same span with the same label occurs twice and is counted once.",
        '{"id": "s1", "spans": [[0, 1, "person"]]}',
        warning=True,
    ),
    "overlapping_spans": ProblemKind(
        "Two spans overlap, which this project does not allow.",
        '{"id": "s1", "spans": [[0, 8, "place"], [9, 14, "person"]]}',
        False,
    ),
    "too_many_in_line": ProblemKind(
        "The line has too many spans or relations.",
        '{"id": "s1", "spans": [[0, 1, "person"]]}',
        False,
    ),
    "too_slow": ProblemKind(
        "Checking the file takes longer than the limit.",
        '{"id": "s1", "label": "born_in"}',
        False,
    ),
    "long_answer": ProblemKind(
        "The text of an answer is longer than the limit.",
        '{"id": "d1", "entities": [["Ada Byron", "person"]]}',
        False,
    ),
    "empty_answer": ProblemKind(
        "An answer without text was left out.",
        '{"id": "d1", "entities": [["Ada Byron", "person"]]}',
        False,
        warning=True,
    ),
    "textless_item": ProblemKind(
        "The gold has no text of this document, in which answers could be found.",
        '{"id": "d1", "spans": [[0, 1, "person"]]}',
        False,
    ),
    "duplicate_relation": ProblemKind(
        "The same relation between the same spans occurs twice and is counted once.",
        '{"id": "s1", "spans": [[0, 1, "p"], [3, 4, "q"]], "relations": [[0, "at", 1]]}',
        warning=True,
    ),
    "entity_not_in_text": ProblemKind(
        "The name of the entity does not occur in the text.",
        f'{{{MENTION}, "t": {{"name": "Turin"}}, "text": "Ada was born in Turin."}}',
    ),
    "ambiguous_entity": ProblemKind(
        "The name occurs more than once. The first occurrence is used.", MENTION, False, warning=True
    ),
    "loose_entity": ProblemKind(
        "The name occurs only inside a token or in a different letter case.", MENTION, False, warning=True
    ),
    "other_words": ProblemKind(
        "The offsets do not cover the name, which occurs elsewhere in the text.",
        MENTION,
        False,
        warning=True,
    ),
    "wrong_words": ProblemKind(
        "The offsets do not cover the words that the file has for them.", "T1\tPER 0 3\tAda", False
    ),
    "cut_word": ProblemKind(
        "The span begins or ends within a word.", '{"unit": "graphemes"}', False, warning=True
    ),
    "no_item": ProblemKind("The document that the answers are about is missing.", '{"item": "d1"}', False),
    "no_names": ProblemKind(
        "The names of the labels are missing. The file has their numbers only.",
        '{"names": ["O", "B-PER", "I-PER"]}',
        False,
    ),
    "no_unit": ProblemKind(
        "The unit of the offsets is missing. The same offsets are different places in different units.",
        '{"unit": "utf16"}',
        False,
    ),
    "discontinuous_span": ProblemKind("The span has several parts.", "T1\tPER 0 3\tAda", False),
    "left_out_annotation": ProblemKind(
        "The annotation is neither a span nor a relation. It was left out.",
        "T1\tPER 0 3\tAda",
        False,
        warning=True,
    ),
    # Files of other tools.
    "several_answers": ProblemKind(
        "Several people answered, and no answer is marked as the gold. A project can import them all.",
        '{"annotations": [{"ground_truth": true, "result": []}]}',
        False,
    ),
    "bad_xml": ProblemKind(
        "The XML is damaged or not allowed.", '<xmi:XMI xmlns:xmi="http://www.omg.org/XMI">', False
    ),
    "several_layers": ProblemKind(
        "The file has several layers or features, and it is unclear which has the labels.",
        "#T_SP=custom.Span|label",
        False,
    ),
    "bad_binary": ProblemKind("The binary file is damaged or has other content.", "corpus.spacy", False),
    "no_extra": ProblemKind(
        "The format needs an optional package.",
        "pip install --require-hashes -r requirements-formats.txt",
        False,
    ),
    # Identifiers and labels.
    "missing_id": ProblemKind("An expected id has no line.", '{"id": "s1", "label": "N/A"}'),
    "too_few_claims": ProblemKind(
        "The ranking has fewer predictions than a hidden phase accepts.",
        '{"id": "s1", "scores": {"born_in": 0.93, "works_for": 0.05}}',
        False,
    ),
    "unknown_id": ProblemKind("The id is not one of the expected ids.", LABEL),
    "duplicate_id": ProblemKind("The id occurs twice.", LABEL),
    "duplicate_claim": ProblemKind(
        "The same relation of the same pair occurs twice.",
        '{"h": "Q1", "t": "Q2", "relation": "born_in", "score": 0.93}',
    ),
    "duplicate_vote": ProblemKind(
        "The same annotator answers the same item twice.",
        '{"annotator": "ann1", "item": "s1", "labels": ["born_in"]}',
    ),
    "too_many_labels": ProblemKind(
        "There are more distinct labels than an inventory may have.", "cut -f 2 FILE | sort -u | wc -l", False
    ),
    "duplicate_label": ProblemKind("The label occurs twice.", '{"id": "s1", "labels": ["born_in"]}'),
    "unknown_label": ProblemKind("The label is not in the inventory.", LABEL),
    "near_label": ProblemKind("The label is not in the inventory, but a similar one is.", LABEL),
    "old_label": ProblemKind("The label is an old name that became several labels, or none.", LABEL),
    "negative_with_label": ProblemKind(
        "The negative class is combined with another label.", '{"id": "s1", "labels": ["born_in"]}'
    ),
    "negative_averaged": ProblemKind(
        "A label looks like the negative class, but is counted as a relation.",
        '{"negative": "no_relation"}',
        False,
        warning=True,
    ),
    "bad_score": ProblemKind(
        "The score is not a finite number.", '{"id": "s1", "scores": {"born_in": 0.93}}'
    ),
    "token_mismatch": ProblemKind(
        "The tokens or tags do not match the tokens of the text.",
        '{"id": "s1", "tags": ["B-person", "O", "O"]}',
    ),
    "empty_cell": ProblemKind(
        "The cell is empty and is not counted as a vote.", "s1\tw7\tNONE", False, warning=True
    ),
}
# Codes whose value is copied from the file; the other values describe something and stand without quotes
COPIED = frozenset(
    {
        *("not_json", "nul_character", "lone_surrogate", "unknown_key", "wrong_type", "wrong_columns"),
        *("bad_tag", "repaired_tag", "dropped_tag", "bad_block", "entity_not_in_text", "loose_entity"),
        *("other_words", "textless_item", "unknown_id", "duplicate_id", "duplicate_claim", "duplicate_label"),
        *("unknown_label", "near_label", "old_label", "negative_with_label", "negative_averaged"),
        "bad_score",
    }
)
