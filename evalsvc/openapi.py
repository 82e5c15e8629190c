"""Additions to the OpenAPI description: groups, summaries, ETags and text patterns."""

from __future__ import annotations

from functools import cache, partial
from threading import Lock
from typing import Any

from drf_spectacular.authentication import SessionScheme
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.views import SpectacularAPIView
from rest_framework.renderers import BaseRenderer

Schema = dict[str, Any]
GROUPS = (
    ("Submissions", "Check a file, submit it, follow its progress, read its scores.",
     {"submissions", "check", "models"}),
    ("Boards", "Benchmarks with settings, inputs, leaderboards and limits; measures.",
     {"benchmarks", "measures"}),
    ("Test sets", "Frozen test sets, and their gold for those allowed to read it.", {"test-sets"}),
    ("Labelling", "Projects: items, answers, disputes, participants and agreement; freezing.",
     {"projects", "imports", "items", "leases", "annotators"}),
    ("Service", "State of the queues, and upload limits.", {"status", "limits"}),
)  # fmt: skip
IF_NONE_MATCH = {
    "name": "If-None-Match",
    "in": "header",
    "schema": {"type": "string"},
    "description": "ETag of your copy; 304 if it is current.",
}
ETAG = {"ETag": {"schema": {"type": "string"}, "description": "Changes with the response."}}
REJECTED = {
    "description": "Unknown query parameter or field.",
    "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
}
NOT_OF_TEAMS = {"projects", "imports", "items", "leases", "annotators", "test-sets", "releases"}
NOT_ALLOWED = REJECTED | {"description": "Not allowed, such as with a token of a team."}
TEXT, NON_BLANK_TEXT = r"^[^\u0000]*$", r"^[^\u0000]*[^\s\u0000][^\u0000]*$"


class TokenScheme(OpenApiAuthenticationExtension):
    """Security scheme of API tokens."""

    target_class = "evalsvc.core.accounts.token_authentication.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: object) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "description": "A token from your team's page: `evs_…`."}


class PageSessionScheme(SessionScheme):
    """Security scheme of a page's session."""

    target_class = "evalsvc.core.accounts.token_authentication.PageSession"


class Generator(SchemaGenerator):
    """The description, generated once in a process: the routes don't change."""

    def get_schema(self, request: object = None, public: bool = False) -> Schema:
        return _description()


_generating = Lock()


def _description() -> Schema:
    with _generating:  # the generator fails if two threads use it first at the same time
        return _generated()


@cache
def _generated() -> Schema:
    return dict(SchemaGenerator().get_schema(public=True))


class RenderedOnce(BaseRenderer):
    """The description in one format, written once in a process.

    It takes a tenth of a second.
    """

    def render(self, data: Any, accepted_media_type: str | None = None, renderer_context: Any = None) -> Any:
        render = partial(super().render, data, accepted_media_type, renderer_context)
        if data is not _description() or accepted_media_type != self.media_type:
            return render()
        if self.media_type not in _texts:
            _texts[self.media_type] = render()
        return _texts[self.media_type]


_texts: dict[str, Any] = {}


class DescriptionView(SpectacularAPIView):
    """The description in YAML and JSON, for everybody."""

    generator_class = Generator
    permission_classes = ()
    authentication_classes = ()
    renderer_classes = [
        type(each.__name__, (RenderedOnce, each), {}) for each in SpectacularAPIView.renderer_classes
    ]

    def _get_version_parameter(self, request: object) -> None:
        """Read no version of the query: there is one, and the name of the file would repeat it."""


def complete(result: Schema, **kwargs: Any) -> Schema:
    """Postprocess the description generated from the views."""
    paths = sorted(result["paths"].items(), key=lambda item: (_rank(item[0]), "/submissions" not in item[0]))
    result["paths"] = dict(paths)
    result["tags"] = [{"name": name, "description": description} for name, description, _ in GROUPS]
    for path, item in paths:
        for operation in item.values():
            operation["tags"] = [GROUPS[_rank(path)][0]]
            operation["summary"] = operation["description"].split(". ")[0].split("; ")[0].rstrip(".")
            operation["responses"] = _rejections(path) | operation["responses"]
        if "get" in item:
            read = item["get"]
            response = read["responses"].get("200", {})
            if "application/json" in response.get("content", {}):
                response["headers"] = response.get("headers", {}) | ETAG
                read["parameters"] = [*read.get("parameters", []), dict(IF_NONE_MATCH)]
                read["responses"]["304"] = {"description": "Not modified.", "headers": dict(ETAG)}
    for name, shape in result["components"]["schemas"].items():
        if name.endswith("Request"):
            # texts contain no NUL; required ones are not blank
            for field in shape.get("properties", {}).values():
                for text in (field, field.get("items"), field.get("additionalProperties")):
                    is_text = isinstance(text, dict) and text.get("type") == "string"
                    if is_text and not text.keys() & {"enum", "format", "pattern"}:
                        text["pattern"] = NON_BLANK_TEXT if text.get("minLength") else TEXT
            shape["additionalProperties"] = False
    return result


def _rejections(path: str) -> Schema:
    """Responses of every operation, unless it describes them itself."""
    not_of_teams = NOT_OF_TEAMS & set(path.split("/"))
    return {"400": dict(REJECTED)} | ({"403": dict(NOT_ALLOWED)} if not_of_teams else {})


def _rank(path: str) -> int:
    """Index of the first group matching the path; default: last."""
    parts = set(path.split("/"))
    return next((n for n, (_, _, words) in enumerate(GROUPS) if parts & words), len(GROUPS) - 1)
