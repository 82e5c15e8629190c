"""What the API's description says beside what its views say of themselves."""

from __future__ import annotations

from typing import Any

Told = dict[str, Any]
GROUPS = (
    ("Submissions", "Check a file, submit it, follow it, read its scores.",
     {"submissions", "check", "models"}),
    ("Boards", "Benchmarks with their settings, inputs, boards and limits; the measures.",
     {"benchmarks", "measures"}),
    ("Test sets", "Frozen sets and their gold, for whoever may read it.", {"test-sets"}),
    ("Labelling", "Projects: items, answers, disputes, the people and how they agree; freezing.",
     {"projects", "imports", "items", "leases", "annotators"}),
    ("Service", "How the queues are doing, and what may be sent.", {"status", "limits"}),
)  # fmt: skip
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
    _groups(result)
    _reads_that_are_known(result)
    _texts_as_they_are_taken(result)
    return result


def _groups(result: Told) -> None:
    """Operations by what one comes for, submitting first; each with its first sentence as a summary."""
    paths = sorted(result["paths"].items(), key=lambda item: (_rank(item[0]), "/submissions" not in item[0]))
    result["paths"] = dict(paths)
    result["tags"] = [{"name": name, "description": says} for name, says, _ in GROUPS]
    for path, item in paths:
        for operation in item.values():
            operation["tags"] = [GROUPS[_rank(path)][0]]
            operation["summary"] = operation["description"].split(". ")[0].split("; ")[0].rstrip(".")


def _rank(path: str) -> int:
    """The first group with a word of the path; what is new belongs to the last until it is given one."""
    parts = set(path.split("/"))
    return next((n for n, (_, _, words) in enumerate(GROUPS) if parts & words), len(GROUPS) - 1)


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
