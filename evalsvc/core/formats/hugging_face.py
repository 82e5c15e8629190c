"""Rows of Hugging Face datasets: JSONL or Parquet, label names in a card.

Entities: `tokens` and `ner_tags` (IOB2, as numbers). Pairs: `text`, `head`, `tail` and one `label`.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import chain
from typing import Any

import msgspec

from evalsvc.core.formats.documents import Document
from evalsvc.core.formats.extras import require_extra
from evalsvc.core.formats.json_documents import MAX_BYTES, decode_documents, read_whole, token_item
from evalsvc.core.formats.json_lines import Identifier, identifier
from evalsvc.core.formats.pairs import json_lines, lose_ids, lose_types, only_label, pairs, place
from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.records import Entity, ItemLine
from evalsvc.core.formats.registry import Export, Format, Reader, Writer, register
from evalsvc.core.formats.tag_schemes import checked_tags, encode_tags
from evalsvc.core.formats.text_lines import LIMITS, Limits, Source
from evalsvc.core.formats.text_spans import check_bounds

NEGATIVE = "no_relation"
ROWS_AT_ONCE = 1_000
FAULTS = (ValueError, TypeError, KeyError, IndexError, OSError, NotImplementedError)
SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
LOSES = (
    "Entities: the text becomes tokens, relations are lost, and of overlapping spans the "
    "one of most tokens stays. "
    "Pairs: types and ids of entities, and further relations of a pair."
)


class _Rows:
    """Rows of either kind, and what the card says of them."""

    def __init__(self, documents: Iterable[Document], export: Export) -> None:
        self.documents, self.export = iter(documents), export
        first = next(self.documents, None)
        self.documents = chain([first] if first else [], self.documents)
        self.is_pairs = first is not None and first.head is not None
        self.names = [NEGATIVE, *(n for n in export.relations if n != NEGATIVE)]
        if not self.is_pairs:
            self.names = ["O", *(f"{prefix}-{name}" for name in export.types for prefix in "BI")]
        self.numbers = {name: number for number, name in enumerate(self.names)}
        self.count = 0

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for document in self.documents:
            self.count += 1
            yield self._pair(document) if self.is_pairs else self._tags(document)

    def _tags(self, document: Document) -> dict[str, Any]:
        spans = document.flat_spans
        self.export.lost["overlapping spans"] += len(document.spans) - len(spans)
        self.export.lost["relations"] += len(document.links)
        tags = encode_tags(list(spans), len(document.tokens), "IOB2")
        numbers = [self._number(tag, "O") for tag in tags]
        return {"id": document.id, "tokens": list(document.tokens), "ner_tags": numbers}

    def _pair(self, document: Document) -> dict[str, Any]:
        for _, head, tail in pairs([document]):
            lose_types(self.export, head, tail)
            lose_ids(self.export, head, tail)
            label = self._number(only_label(document, NEGATIVE, self.export), NEGATIVE)
            ends = {"head": list(place(head)), "tail": list(place(tail))}
        return {"id": document.id, "text": document.text, **ends, "label": label}

    def _number(self, name: str, other: str) -> int:
        self.export.lost["labels that the inventory lacks"] += name not in self.numbers
        return self.numbers.get(name, self.numbers[other])

    def card(self, data: str) -> bytes:
        """Return README.md: a YAML head for the hub, a sentence below."""
        names = {str(number): name for number, name in enumerate(self.names)}
        labels = {"class_label": {"names": names}}
        texts: list[dict[str, Any]] = [{"name": "id", "dtype": "string"}]
        if self.is_pairs:
            places = [{"name": end, "list": "int32", "length": 2} for end in ("head", "tail")]
            texts += [{"name": "text", "dtype": "string"}, *places, {"name": "label", "dtype": labels}]
        else:
            texts += [{"name": "tokens", "list": "string"}, {"name": "ner_tags", "list": labels}]
        config = "relations" if self.is_pairs else "ner"
        size = next((name for most, name in SIZES if self.count < most), "n>1M")
        head = {
            "pretty_name": self.export.title,
            "size_categories": [size],
            "task_categories": ["text-classification" if self.is_pairs else "token-classification"],
            "configs": [{"config_name": config, "data_files": [{"split": "test", "path": data}]}],
            "dataset_info": [{"config_name": config, "features": texts}],
        }
        # JSON is YAML; each key on a line of its own
        rows = "".join(f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in head.items())
        return (
            f"---\n{rows}---\n\n# {self.export.title}\n\n{self.count:,} rows, exported by evalsvc.\n".encode()
        )


def write(documents: Iterable[Document], export: Export) -> Iterator[tuple[str, Iterable[bytes]]]:
    """Yield the rows as JSONL, then the card with the names of the labels."""
    rows = _Rows(documents, export)
    yield "test.jsonl", json_lines(rows)
    yield "README.md", [rows.card("test.jsonl")]


def write_parquet(documents: Iterable[Document], export: Export) -> Iterator[tuple[str, Iterable[bytes]]]:
    """Yield the rows as Parquet, with the names of the labels in its schema, then the card."""
    require_extra("hf-parquet")
    rows = _Rows(documents, export)
    yield "test-00000-of-00001.parquet", [_parquet(rows)]
    yield "README.md", [rows.card("test-00000-of-00001.parquet")]


def _parquet(rows: _Rows) -> bytes:
    pyarrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    text, number = pyarrow.string(), pyarrow.int64()
    value = {"dtype": "string", "_type": "Value"}
    labels = {"names": rows.names, "_type": "ClassLabel"}
    if rows.is_pairs:
        place_type = pyarrow.list_(pyarrow.int32(), 2)
        places = {"feature": {"dtype": "int32", "_type": "Value"}, "length": 2, "_type": "List"}
        columns = {"id": text, "text": text, "head": place_type, "tail": place_type, "label": number}
        features = {"id": value, "text": value, "head": places, "tail": places, "label": labels}
    else:
        columns = {"id": text, "tokens": pyarrow.list_(text), "ner_tags": pyarrow.list_(number)}
        features = {
            "id": value,
            "tokens": {"feature": value, "_type": "List"},
            "ner_tags": {"feature": labels, "_type": "List"},
        }
    metadata = {"huggingface": json.dumps({"info": {"features": features}})}
    schema = pyarrow.schema(list(columns.items()), metadata=metadata)
    file = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist(list(rows), schema=schema), file)
    return file.getvalue()


class WireRow(msgspec.Struct):
    """A row of either kind; labels are numbers or names."""

    id: Identifier | None = None
    tokens: list[str] | None = None
    ner_tags: list[int | str] = []
    text: str | None = None
    head: tuple[int, int] | None = None
    tail: tuple[int, int] | None = None
    label: int | str | None = None


def read(
    source: Source, *, problems: Problems, names: Sequence[str] = (), limits: Limits = LIMITS
) -> Iterator[tuple[int, ItemLine]]:
    """Yield (line, item); `names` are those of the numbers, as in the card."""
    rows = decode_documents(source, WireRow, problems=problems, limits=limits)
    yield from _items(rows, names, problems)


def read_parquet(
    source: Source, *, problems: Problems, limits: Limits = LIMITS
) -> Iterator[tuple[int, ItemLine]]:
    """Yield (row, item); the schema has the names of the labels."""
    require_extra("hf-parquet")
    data = read_whole(source, problems=problems, limits=limits, accepted=PARQUET.magic)
    try:
        names, rows = _table(data, problems, limits)
    except (*FAULTS, MemoryError) as error:
        # pyarrow's and msgspec's too
        problems.stop("bad_binary", value=str(error), expected="Parquet with the columns of a dataset")
    problems.lines_read = len(rows)
    yield from _items(enumerate(rows, 1), names, problems)


def _table(data: bytes, problems: Problems, limits: Limits) -> tuple[list[str], list[WireRow]]:
    """Return the names of labels, and the rows; count texts as often as they are repeated."""
    parquet = import_module("pyarrow.parquet")
    metadata = parquet.read_metadata(io.BytesIO(data))
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    most = min(limits.max_bytes, MAX_BYTES)
    size = sum(group.total_byte_size for group in groups)
    if metadata.num_rows > limits.max_lines:
        value, expected = f"{metadata.num_rows:,} rows", f"at most {limits.max_lines:,}"
        problems.stop("too_large", value=value, expected=expected)
    chunks = [group.column(at) for group in groups[:1] for at in range(group.num_columns)]
    texts = [chunk.path_in_schema for chunk in chunks if chunk.physical_type == "BYTE_ARRAY"]
    file = parquet.ParquetFile(io.BytesIO(data), read_dictionary=texts)
    columns = [name for name in WireRow.__struct_fields__ if name in file.schema_arrow.names]
    rows: list[WireRow] = []
    decoded = 0
    batches = file.iter_batches(batch_size=ROWS_AT_ONCE, columns=columns) if size <= most else ()
    for batch in batches:
        decoded += sum(map(_decoded_bytes, batch.columns))
        if decoded > most:
            break
        rows += [msgspec.convert(row, WireRow) for row in batch.to_pylist()]
    if max(size, decoded) > most:
        value, expected = f"more than {most:,} bytes", f"at most {most:,} bytes unpacked"
        problems.stop("too_large", value=value, expected=expected)
    return _names_of(file.schema_arrow.metadata or {}), rows


def _decoded_bytes(column: Any) -> int:
    """Return the bytes of a column whose texts are stored once, however often they occur."""
    arrow, compute = import_module("pyarrow"), import_module("pyarrow.compute")
    if isinstance(column, arrow.ListArray | arrow.LargeListArray | arrow.FixedSizeListArray):
        return int(column.nbytes) + _decoded_bytes(column.flatten())
    if not isinstance(column, arrow.DictionaryArray):
        return int(column.nbytes)
    lengths = compute.binary_length(column.dictionary)
    return int(column.nbytes) + (compute.sum(lengths.take(column.indices)).as_py() or 0)


def _names_of(metadata: Mapping[bytes, bytes]) -> list[str]:
    """Return the names in the description that the library of datasets leaves in a schema."""
    info = json.loads(metadata.get(b"huggingface", b"{}"))
    features = info.get("info", {}).get("features", {})
    for feature in (features.get("label", {}), features.get("ner_tags", {}).get("feature", {})):
        if "names" in feature:
            return [str(name) for name in feature["names"]]
    return []


def _items(
    rows: Iterable[tuple[int, WireRow]], names: Sequence[str], problems: Problems
) -> Iterator[tuple[int, ItemLine]]:
    for line, row in rows:
        item = _tagged_item(row, names, line, problems) if row.tokens is not None else None
        if row.text is not None and row.head is not None and row.tail is not None:
            item = _pair_item(row, names, line, problems)
        elif row.tokens is None:
            problems.add(
                "missing_key", line=line, expected="tokens and ner_tags, or text, head, tail and label"
            )
        if item is not None:
            yield line, item


def _named(value: int | str, names: Sequence[str], line: int, field: str, problems: Problems) -> str | None:
    if isinstance(value, str):
        return value
    if not names:
        hint = "The card (README.md) or dataset_info.json lists them in the order of their numbers."
        problems.stop(
            "no_names", line=line, field=field, value=str(value), expected="stated names", hint=hint
        )
    if 0 <= value < len(names):
        return names[value]
    if value != -1:  # the hub's number for a row without label
        expected = f"a number below {len(names)}, the number of names"
        problems.add("wrong_type", line=line, field=field, value=str(value), expected=expected)
    return None


def _tagged_item(row: WireRow, names: Sequence[str], line: int, problems: Problems) -> ItemLine | None:
    tokens = row.tokens or []
    tags = [_named(tag, names, line, "ner_tags", problems) for tag in row.ner_tags]
    found = [tag for tag in tags if tag is not None]
    if len(tokens) != len(row.ner_tags):
        value, expected = f"{len(row.ner_tags)} tags", f"{len(tokens)}, one per token"
        problems.add("token_mismatch", line=line, field="ner_tags", value=value, expected=expected)
    elif len(found) == len(tokens):
        spans = checked_tags(found, "IOB2", lines=[line], repair="conlleval", problems=problems)
        if spans is not None:
            name = line if row.id is None else row.id
            return token_item(name, tokens, spans, None, line=line, problems=problems)
    return None


def _pair_item(row: WireRow, names: Sequence[str], line: int, problems: Problems) -> ItemLine | None:
    assert row.text is not None
    name = line if row.id is None else row.id
    item_id = identifier(name, line=line, field="id", problems=problems)
    places = {"head": row.head or (0, 0), "tail": row.tail or (0, 0)}
    valid = [
        check_bounds(*place, length=len(row.text), line=line, field=field, problems=problems)
        for field, place in places.items()
    ]
    if item_id is None or not all(valid):
        return None
    head, tail = (Entity(None, row.text[start:end], start, end) for start, end in places.values())
    label = None if row.label is None else _named(row.label, names, line, "label", problems)
    return ItemLine(item_id, row.text, None, head, tail, None, None if label is None else (label,))


JSONL = register(
    Format(
        "hf-jsonl",
        "Hugging Face rows (JSONL)",
        "A row per line; labels are numbers, whose names are in the card.",
        '{"id":"d1","tokens":["Ada","lives","in","Turin"],"ner_tags":["B-PER","O","O","B-LOC"]}',
        roles=("items", "gold"),
        rank=17,
        recognise=lambda sample: (
            {"tokens", "ner_tags"} <= sample.keys or {"text", "head", "tail", "label"} <= sample.keys
        ),
        readers={"items": Reader(read, ("names",))},
        writer=Writer(write, ("relations", "entities", "joint"), "tokens; code points of pairs", LOSES),
        merge_by="id",
        negatives=(NEGATIVE,),
    )
)
PARQUET = register(
    Format(
        "hf-parquet",
        "Hugging Face rows (Parquet)",
        "A table with the names of the labels in its schema.",
        "PAR1",
        roles=("items", "gold"),
        rank=97,
        magic=b"PAR1",
        readers={"items": Reader(read_parquet, by_job=True)},
        merge_by="id",
        negatives=(NEGATIVE,),
        writer=Writer(
            write_parquet,
            ("relations", "entities", "joint"),
            "tokens; code points of pairs",
            LOSES,
            extra="pyarrow",
        ),
    )
)
