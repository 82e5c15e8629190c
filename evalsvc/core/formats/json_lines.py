"""JSON Lines decoded into structs, with decoder errors as problems."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterator
from functools import cache
from typing import Any, TypeVar, get_args

import msgspec
from msgspec.structs import FieldInfo

from evalsvc.core.formats.problems import Problems, did_you_mean
from evalsvc.core.formats.text_lines import LIMITS, Block, Limits, Source, read_lines

Shape = TypeVar("Shape", bound=msgspec.Struct)
Identifier = str | int
LONGEST_ID = 200

PLACE = re.compile(r" - at `\$\.?(.*)`$")
STEPS = re.compile(r"([^.\[\]]+)|\[(\d+|\.\.\.)\]")
NAMED = re.compile(r"`([^`]*)`")
EXPECTED = re.compile(r"^Expected (.*?)(?:, got (.*))?$")
WORDS = {
    "str": "text in quotes",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "null": "null",
    "array": "a list in [ ]",
    "object": "an object in { }",
}
KINDS: dict[type, tuple[str, ...]] = {
    str: ("str",), bool: ("bool",), int: ("int",), float: ("float",), type(None): ("null",), list: ("array",),
    dict: ("object",),
}  # fmt: skip
ONE_EACH = "Write one object with these keys per line, not one for all."
NO_NUL = "Remove the \\u0000."
KEY = re.compile(r'"[ \t]*:')
KEY_BYTES = re.compile(rb'"[ \t]*:')
FAULT = re.compile(r"JSON is malformed: (.*) \(byte (\d+)\)")
NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
LENIENT = ("NaN", "Infinity", "\\u")  # in each text that Python alone reads


def decode_lines(
    source: Source, shape: type[Shape], *, problems: Problems, limits: Limits = LIMITS
) -> Iterator[tuple[int, Shape]]:
    """Yield (line, object); report lines of another shape, skip blank ones."""
    decoder = msgspec.json.Decoder(shape)
    for number, text in json_lines(source, problems=problems, limits=limits):
        struct = decode(decoder, text, line=number, problems=problems)
        if struct is not None:
            yield number, struct


def json_lines(source: Source, *, problems: Problems, limits: Limits = LIMITS) -> Iterator[tuple[int, str]]:
    """Yield (line, text) of lines that are not blank."""
    for number, text in read_lines(source, problems=problems, limits=limits):
        if text and not text.isspace():
            yield number, text


def decode(decoder: msgspec.json.Decoder[Shape], text: str, *, line: int, problems: Problems) -> Shape | None:
    """Decode one line, or report its problem and return None."""
    try:
        struct = decoder.decode(text)
    except msgspec.ValidationError as error:
        if str(error).startswith("Expected `object`") and not PLACE.search(str(error)):
            _report_not_json(text, line=line, problems=problems)
            return None
        _report_shape(str(error), decoder.type, text, line=line, problems=problems)
        return None
    except (msgspec.DecodeError, RecursionError) as error:
        code = _code_of_strictness(text)
        if code == "bad_score":
            _report_score(text, line=line, problems=problems)
        elif code == "lone_surrogate":
            hint = "Write the character itself in UTF-8."
            problems.add(code, line=line, value=ascii(text), expected="complete characters", hint=hint)
        else:
            _report_not_json(text, line=line, problems=problems, message=str(error))
        return None
    if "\\u0000" in text and NUL.search(text):
        example = problems.example_of("not_json")
        problems.add(
            "nul_character",
            line=line,
            value="\\u0000",
            expected="text without it",
            hint=NO_NUL,
            example=example,
        )
        return None
    repeated = _repeated_key(text, struct) if text.count(":") != count_keys(struct) else None
    if repeated is not None:
        twice = f"{repeated} more than once"
        problems.add("duplicate_key", line=line, field=repeated, value=twice, expected="each key once")
        return None
    return struct


def decode_block(block: Block, decoder: msgspec.json.Decoder[Shape], *, limits: Limits) -> list[Shape] | None:
    """Return the objects of a block, or None if any is irregular.

    Duplicate keys are not detected: check `has_keys` too.
    """
    data, rows = block.data, block.rows
    if (
        block.first + len(rows) - 1 > limits.max_lines
        or len(data) > limits.max_line_bytes
        or (b"\\" in data and b"\\u0000" in data)
    ):
        return None
    try:
        objects = list(map(decoder.decode, rows))
        data.isascii() or data.decode()  # skipped values are not decoded above
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None
    return objects


def has_keys(block: Block, expected: int) -> bool:
    """Return whether the block has exactly this many keys.

    If so, no key occurs twice in an object.
    """
    data = block.data
    if data.count(b":") == expected:
        return True
    spaced = b" :" in data or b"\t:" in data
    return (len(KEY_BYTES.findall(data)) if spaced else data.count(b'":')) == expected


def is_plain(name: str) -> bool:
    """Return whether a text can be an id unchanged."""
    return 0 < len(name) <= LONGEST_ID and not (name[0].isspace() or name[-1].isspace())


def all_plain(names: Collection[str]) -> bool:
    """Return whether all texts can be ids unchanged."""
    if not names:
        return True
    joined = "\0".join(("", *names, ""))
    if len(joined.split(None, 1)) == 1:
        return "\0\0" not in joined and max(map(len, names)) <= LONGEST_ID
    return all(map(is_plain, names))


def identifier(value: Identifier, *, line: int, field: str, problems: Problems) -> str | None:
    """Return an id as text, or None after a report.

    Ids have 1 to 200 characters; whole numbers become their digits.
    """
    text = str(value) if isinstance(value, int) and abs(value) < 1 << 63 else value
    if isinstance(text, str) and is_plain(text):
        return text
    expected = f"1–{LONGEST_ID} characters without surrounding spaces"
    problems.add("wrong_type", line=line, field=field, value=text, expected=expected)
    return None


def count_keys(struct: msgspec.Struct) -> int:
    """Count the keys of a decoded object, nested ones included."""
    keys = 0
    for name in struct.__struct_fields__:
        value = getattr(struct, name)
        if value is not msgspec.UNSET:
            keys += 1
            if isinstance(value, dict):
                keys += len(value)
            elif isinstance(value, msgspec.Struct):
                keys += count_keys(value)
    return keys


def _repeated_key(text: str, struct: msgspec.Struct) -> str | None:
    """Return a key that occurs twice; decoders silently keep its last value."""
    if len(KEY.findall(text)) == count_keys(struct):
        return None
    repeated: list[str] = []

    def collect(pairs: list[tuple[str, Any]]) -> None:
        keys = [key for key, _ in pairs]
        repeated.extend(key for key in dict.fromkeys(keys) if keys.count(key) > 1)

    # numbers stay text: only the keys count, and int() rejects more than 4,300 digits
    json.loads(text, object_pairs_hook=collect, parse_int=str)
    return repeated[0] if repeated else None


def _report_shape(
    message: str, shape: type[msgspec.Struct], text: str, *, line: int, problems: Problems
) -> None:
    place = PLACE.search(message)
    path = place.group(1) if place else ""
    field = path.replace("[...]", "") or None
    text_only = PLACE.sub("", message)
    name = (NAMED.findall(text_only) or [""])[0]
    if "unknown field" in message:
        keys = _keys_at(path, shape)
        problems.add(
            "unknown_key",
            line=line,
            field=field,
            value=name,
            expected=f"one of: {', '.join(keys)}",
            hint=lambda: did_you_mean(name, keys) or (ONE_EACH if line == 1 and not path else None),
        )
    elif "missing required" in message:
        problems.add("missing_key", line=line, field=field, value=text, expected=f"the key {name}")
    elif "out of range" in message:
        _report_score(text, line=line, problems=problems)
    else:
        match = EXPECTED.match(text_only)
        expected, got = match.groups() if match else (text_only, None)
        kind = NAMED.findall(got or "")
        plain = NAMED.sub(lambda match: WORDS.get(match[1], match[1]), expected)
        parts = [WORDS.get(part.strip(), part.strip()) for part in plain.split("|")]
        problems.add(
            "wrong_type",
            line=line,
            field=field,
            value=_value_at(text, STEPS.findall(path), kind[0] if kind else ""),
            expected=" or ".join(dict.fromkeys(parts)),
        )


def _value_at(text: str, steps: list[tuple[str, str]], kind: str) -> str:
    """Return the JSON value at the decoder's path, or the last one that a repeated key of it has.

    For any value of an object, it is the first one of the kind.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):  # the rest of the line is broken too
        return text
    for key, index in steps:
        if index == "...":
            inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
            value = next((each for each in inside if kind in KINDS[type(each)]), value)
        elif index and isinstance(value, list) and int(index) < len(value):
            value = value[int(index)]
        elif key and isinstance(value, dict) and key in value:
            value = value[key]
    return json.dumps(value, ensure_ascii=False)


def _report_not_json(text: str, *, line: int, problems: Problems, message: str = "") -> None:
    def hint() -> str:
        return f"{_place_of_fault(text, message)} {_hint(text)}".strip()

    problems.add("not_json", line=line, value=text, expected="one JSON object in each line", hint=hint)


def _place_of_fault(text: str, message: str) -> str:
    """Say where the line stops being JSON, and why."""
    match = FAULT.fullmatch(message)
    if match is None:
        return "The line ends before the object is complete." if "truncated" in message else ""
    at = len(text.encode()[: int(match[2])].decode(errors="ignore")) + 1
    return f"Character {at:,}: {match[1]}."


class _Unfinite(str):
    """A number that is not finite, as written in the line."""


def _number(written: str) -> float | _Unfinite:
    number = float(written)
    return number if math.isfinite(number) else _Unfinite(written)


def _report_score(text: str, *, line: int, problems: Problems) -> None:
    """Report the number that is not finite, with its key."""
    try:
        value = json.loads(text, parse_constant=_Unfinite, parse_float=_number, parse_int=_number)
    except (ValueError, RecursionError):  # the rest of the line is broken too
        value = None
    field, shown, waiting = None, text, [("", "", value)]
    while waiting:
        outer, key, value = waiting.pop()
        if isinstance(value, _Unfinite):
            field, shown = outer or None, f"{key}: {value}" if key else str(value)
            break
        named = value.items() if isinstance(value, dict) else ()
        inside = [(outer or name, name if outer else "", each) for name, each in named]
        inside += [(outer, key, each) for each in value] if isinstance(value, list) else []
        waiting += reversed(inside)
    if field in (None, "score", "scores"):
        problems.add("bad_score", line=line, field=field, value=shown, expected="a finite number")
    else:
        expected = f"1–{LONGEST_ID} characters" if field == "id" else "a number of usual size"
        problems.add("wrong_type", line=line, field=field, value=shown, expected=expected)


def _code_of_strictness(text: str) -> str | None:
    """Return the code of what Python's lenient JSON reader accepts, or None.

    It accepts NaN, infinity and half surrogates.
    """
    if not any(mark in text for mark in LENIENT):
        return None
    constants: list[str] = []
    try:
        json.loads(text, parse_constant=constants.append)
    except (ValueError, RecursionError):
        return None
    return "bad_score" if constants else "lone_surrogate"


def _hint(text: str) -> str:
    if text.lstrip().startswith("{'"):
        return "This looks like a Python dictionary. Write it with json.dumps."
    if text.strip() in ("{", "[") or text.startswith("["):
        return "Write one object per line, not a list or an object over several lines."
    return "Write lines with a JSON library, such as json.dumps in Python."


@cache
def _fields(shape: type[msgspec.Struct]) -> tuple[FieldInfo, ...]:
    """Return the fields of a shape: looking them up takes longer than reading a line."""
    return msgspec.structs.fields(shape)


def _keys_at(path: str, shape: type[msgspec.Struct]) -> list[str]:
    """Return the keys of the object at a path of a shape."""
    for key, _ in STEPS.findall(path):
        types = {info.encode_name: info.type for info in _fields(shape)}
        choices = [types.get(key), *get_args(types.get(key))]
        shape = next(
            (each for each in choices if isinstance(each, type) and issubclass(each, msgspec.Struct)), shape
        )
    return [info.encode_name for info in _fields(shape)]
