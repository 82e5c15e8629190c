"""What the API's description says beside what its views say of themselves."""

from __future__ import annotations

from typing import Any

Told = dict[str, Any]
IF_NONE_MATCH = {
    "name": "If-None-Match",
    "in": "header",
    "schema": {"type": "string"},
    "description": "The ETag of what you have; 304 when it is still that.",
}
ETAG = {"ETag": {"schema": {"type": "string"}, "description": "Changes when the answer does."}}
TEXT, SAYING_SOMETHING = r"^[^\u0000]*$", r"^[^\u0000]*[^\s\u0000][^\u0000]*$"


def finished(result: Told, **kwargs: Any) -> Told:
    """The description once the views are in it."""
    _reads_that_are_known(result)
    _texts_as_they_are_taken(result)
    return result


def _reads_that_are_known(result: Told) -> None:
    """Every read whose answer is JSON has an ETag, and answers 304 to who has it."""
    for item in result["paths"].values():
        read = item.get("get")
        answer = read["responses"].get("200") if read else None
        if answer and "application/json" in answer.get("content", {}):
            answer["headers"] = answer.get("headers", {}) | ETAG
            read["parameters"] = [*read.get("parameters", []), dict(IF_NONE_MATCH)]
            read["responses"]["304"] = {"description": "Nothing changed.", "headers": dict(ETAG)}


def _texts_as_they_are_taken(result: Told) -> None:
    """No text that is sent may hold a NUL, and one that has to say something is not made of spaces."""
    for name, shape in result["components"]["schemas"].items():
        if name.endswith("Request"):
            for field in shape.get("properties", {}).values():
                for text in (field, field.get("items", {}), field.get("additionalProperties", {})):
                    _bound(text)


def _bound(text: Any) -> None:
    plain = isinstance(text, dict) and text.get("type") == "string"
    if plain and not text.keys() & {"enum", "format", "pattern"}:
        text["pattern"] = SAYING_SOMETHING if text.get("minLength") else TEXT
