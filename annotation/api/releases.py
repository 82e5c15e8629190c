"""API of releases: folder, changes, publication, downloads, card."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.api.lookups import readable_test_set, visible_test_set
from annotation.models import Card, Download, Publication
from annotation.releases import card as cards
from annotation.releases import publication_effect, publishing
from annotation.releases.comparison import Cause, FactChange, LineChange
from annotation.releases.earlier import compare_with
from annotation.releases.folder import zip_of
from annotation.releases.listing import parts_of
from annotation.releases.publishing import record_download
from annotation.testset import BoardMove, board_moves, logged_changes
from evalsvc.core.accounts.users import person
from evalsvc.core.activity.api import LogEntrySerializer, LogView
from evalsvc.core.activity.models import LogEntry
from evalsvc.core.errors.handlers import problems
from evalsvc.core.web.downloads import parts_file, zip_file
from evalsvc.core.web.request_validation import query_choices, validated

ONE_FILE = OpenApiParameter(
    "name", str, description="One file alone, such as README.md; default: all as a zip."
)


class ReleaseFolder(APIView):
    @extend_schema(
        operation_id="test_set_release_folder",
        parameters=[
            OpenApiParameter("gold", str, enum=["0", "1"], description="0 leaves out all files with gold."),
            ONE_FILE,
        ],
        responses={(200, "application/zip"): OpenApiTypes.BINARY} | problems(400, 401, 403, 404, 409),
    )
    def get(self, request: Request, slug: str) -> StreamingHttpResponse:
        """Download all files of a release as one zip. For curators and importers."""
        test_set, _ = readable_test_set(request, slug)
        with_gold = query_choices(request, gold=["0", "1"]).get("gold") != "0"
        if name := request.query_params.get("name"):
            found = parts_of(test_set, name, with_gold=with_gold)
            record_download(test_set, person(request), f"{name} of the release"[:40])
            return parts_file(name, found)
        parts = zip_of(test_set, with_gold=with_gold)
        record_download(test_set, person(request), "release" if with_gold else "release without gold")
        return zip_file(f"{test_set.slug}.zip", parts)


class CauseSerializer(serializers.Serializer[Cause]):
    what = serializers.CharField(
        help_text="ontology, rule, answers, decision, sentence added, sentence left out, not recorded"
    )
    detail = serializers.CharField()


class LineChangeSerializer(serializers.Serializer[LineChange]):
    id = serializers.CharField()
    before = serializers.ListField(child=serializers.CharField(), allow_null=True)
    after = serializers.ListField(child=serializers.CharField(), allow_null=True)
    causes = CauseSerializer(many=True)


class FactChangeSerializer(serializers.Serializer[FactChange]):
    fact = serializers.ListField(child=serializers.CharField(), help_text="head, relation, tail")
    names = serializers.ListField(child=serializers.CharField(), help_text="of head and tail")
    ids = serializers.ListField(child=serializers.CharField())


class BoardMoveSerializer(serializers.Serializer[BoardMove]):
    title = serializers.CharField()
    url = serializers.CharField()
    text = serializers.CharField()


class ChangesSerializer(serializers.Serializer[Any]):
    first = serializers.CharField()
    second = serializers.CharField()
    rows_before = serializers.IntegerField()
    rows_after = serializers.IntegerField()
    changes = LineChangeSerializer(many=True)
    facts_added = FactChangeSerializer(many=True)
    facts_lost = FactChangeSerializer(many=True)
    boards = BoardMoveSerializer(many=True)


CHANGES = ("first", "second", "rows_before", "rows_after", "changes", "facts_added", "facts_lost")


class Changes(APIView):
    @extend_schema(
        operation_id="test_set_changes",
        parameters=[OpenApiParameter("since", str, description="Slug; by default the set frozen before it.")],
        responses={200: ChangesSerializer} | problems(400, 401, 403, 404, 409, 413),
    )
    def get(self, request: Request, slug: str) -> Response:
        """Compare with an earlier set.

        For those who may read the gold of both.
        """
        test_set, user = visible_test_set(request, slug), person(request)
        first, found = compare_with(test_set, request.query_params.get("since", ""), by=user)
        body = {name: getattr(found, name) for name in CHANGES}
        return Response(ChangesSerializer(body | {"boards": board_moves(first, test_set, user)}).data)


class PublicationSerializer(serializers.Serializer[Any]):
    """What others may download, and under which terms."""

    slug = serializers.CharField(source="test_set.slug", read_only=True)
    title = serializers.CharField(source="test_set", read_only=True)
    access = serializers.ChoiceField(choices=Publication.Access.choices)
    with_gold = serializers.BooleanField(default=False)
    terms = serializers.CharField(
        required=False, allow_blank=True, default="", max_length=publishing.MAX_TERMS, help_text="Markdown."
    )
    usernames = serializers.ListField(
        child=serializers.CharField(max_length=150), write_only=True, default=list, help_text="For `named`."
    )
    terms_sha256 = serializers.SerializerMethodField()
    accepted = serializers.SerializerMethodField()
    withdrawn_at = serializers.DateTimeField(read_only=True, allow_null=True)
    reason = serializers.CharField(read_only=True)
    preview = serializers.BooleanField(
        default=False, write_only=True, help_text="Change nothing; `effect` states what would change."
    )
    effect = serializers.SerializerMethodField()

    def get_effect(self, publication: Publication) -> str:
        """Return what a preview would change, in words."""
        return str(self.context["effect"])

    def get_terms_sha256(self, publication: Publication) -> str:
        """Return the digest of the terms, which acceptance names."""
        return publishing.terms_sha256(publication)

    def get_accepted(self, publication: Publication) -> bool:
        """Return True if you accepted these terms."""
        return publishing.has_accepted(publication, self.context["user"])


def _publication(request: Request, publication: Publication, effect: str = "") -> Response:
    context = {"user": person(request), "effect": effect}
    return Response(PublicationSerializer(publication, context=context).data)


class WithdrawSerializer(serializers.Serializer[Any]):
    reason = serializers.CharField(max_length=2_000, help_text="Shown on the page, which stays.")
    preview = serializers.BooleanField(
        default=False, help_text="Change nothing; `effect` states what would change."
    )


class Publish(APIView):
    @extend_schema(
        operation_id="test_set_publish",
        request=PublicationSerializer,
        responses={200: PublicationSerializer} | problems(400, 401, 403, 404, 409),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Publish a test set, or change its publication. For its curators or importer."""
        test_set, by = readable_test_set(request, slug)
        values = dict(validated(request, PublicationSerializer))
        if values.pop("preview"):
            return _publication(request, *publication_effect.of_publishing(test_set, by=by, **values))
        return _publication(request, publishing.publish(test_set, by=by, **values))


class Withdraw(APIView):
    @extend_schema(
        operation_id="test_set_withdraw",
        request=WithdrawSerializer,
        responses={200: PublicationSerializer} | problems(400, 401, 403, 404, 409),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Withdraw a published test set. For its curators or importer."""
        test_set, by = readable_test_set(request, slug)
        body = validated(request, WithdrawSerializer)
        with transaction.atomic():
            effect = publication_effect.of_withdrawal(test_set) if body["preview"] else ""
            publication = publishing.withdraw(test_set, reason=body["reason"], by=by)
            transaction.set_rollback(body["preview"])
        return _publication(request, publication, effect)


class TestSetLog(LogView):
    def get_queryset(self) -> QuerySet[LogEntry]:
        if getattr(self, "swagger_fake_view", False):
            return LogEntry.objects.none()
        test_set, _ = readable_test_set(self.request, self.kwargs["slug"])
        return logged_changes(test_set)

    @extend_schema(
        operation_id="test_set_log",
        responses={200: LogEntrySerializer(many=True)} | problems(400, 401, 403, 404, 409),
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """List the changes around a test set, newest first: card, publication, releases, splits."""
        return super().get(request, *args, **kwargs)


class DownloadSerializer(serializers.ModelSerializer[Download]):
    user = serializers.CharField(source="user.username", default=None, allow_null=True)

    class Meta:
        model = Download
        fields = ["user", "what", "at"]


class Downloads(APIView):
    @extend_schema(
        operation_id="test_set_downloads",
        responses={200: DownloadSerializer(many=True)} | problems(401, 403, 404, 409),
    )
    def get(self, request: Request, slug: str) -> Response:
        """List the latest 200 downloads. For its curators or importer."""
        rows = publishing.downloads(visible_test_set(request, slug), by=person(request))
        return Response(DownloadSerializer(rows, many=True).data)


def _published(request: Request, slug: str) -> Publication:
    publication = publishing.visible(person(request)).filter(test_set__slug=slug).first()
    if publication is None:
        raise Http404
    return publication


class OneRelease(APIView):
    @extend_schema(operation_id="release", responses={200: PublicationSerializer} | problems(401, 404))
    def get(self, request: Request, slug: str) -> Response:
        """Get a published test set: access, terms, and whether it was withdrawn."""
        return _publication(request, _published(request, slug))


class AcceptSerializer(serializers.Serializer[Any]):
    terms_sha256 = serializers.CharField(max_length=64, help_text="Digest of the terms you read.")


class AcceptTerms(APIView):
    @extend_schema(
        operation_id="release_accept",
        request=AcceptSerializer,
        responses={200: PublicationSerializer} | problems(400, 401, 403, 404, 409),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Accept the terms of a published test set."""
        publication = _published(request, slug)
        sha256 = validated(request, AcceptSerializer)["terms_sha256"]
        publishing.accept(publication, sha256=sha256, by=person(request))
        return _publication(request, publication)


class ReleaseFile(APIView):
    @extend_schema(
        operation_id="release_file",
        parameters=[ONE_FILE],
        responses={(200, "application/zip"): OpenApiTypes.BINARY} | problems(400, 401, 403, 404, 409),
    )
    def get(self, request: Request, slug: str) -> StreamingHttpResponse:
        """Download a published test set as one zip, or one of its files. Downloads are logged."""
        publication, user = _published(request, slug), person(request)
        publishing.require_download(publication, user)
        test_set, with_gold = publication.test_set, publication.with_gold
        if name := request.query_params.get("name"):
            found = parts_of(test_set, name, with_gold=with_gold)
            record_download(test_set, user, f"published {name}"[:40])
            return parts_file(name, found)
        parts = zip_of(test_set, with_gold=with_gold)
        what = "published release" if with_gold else "published release without gold"
        record_download(test_set, user, what)
        return zip_file(f"{test_set.slug}.zip", parts)


@extend_schema_field({"type": "string", "maxLength": 20, "pattern": f"^{cards.LANGUAGE.pattern}$"})
class LanguageField(serializers.CharField):
    """Code of a language; `cards.change` checks it."""


@extend_schema_field({"type": "string", "maxLength": 60, "pattern": f"^{cards.IDENTIFIER.pattern}$"})
class LicenceField(serializers.CharField):
    """Identifier of a licence, or nothing; `cards.change` checks it."""


class CardSerializer(serializers.ModelSerializer[Card]):
    words = serializers.CharField(required=False, allow_blank=True, max_length=cards.MAX_WORDS)
    authors = serializers.ListField(child=serializers.CharField(max_length=200), required=False)
    licence = LicenceField(required=False, allow_blank=True, max_length=60)
    languages = serializers.ListField(child=LanguageField(max_length=20), required=False)

    class Meta:
        model = Card
        fields = ["words", "authors", "licence", "languages"]


class OneCard(APIView):
    @extend_schema(operation_id="test_set_card", responses={200: CardSerializer} | problems(401, 404))
    def get(self, request: Request, slug: str) -> Response:
        """Get what the curators say about a test set."""
        return Response(CardSerializer(cards.card_of(visible_test_set(request, slug))).data)

    @extend_schema(
        operation_id="test_set_card_change",
        request=CardSerializer,
        responses={200: CardSerializer} | problems(400, 401, 403, 404, 409),
    )
    def patch(self, request: Request, slug: str) -> Response:
        """Change what the curators say. For those who may read the gold."""
        test_set, by = readable_test_set(request, slug)
        return Response(
            CardSerializer(cards.change(test_set, by=by, **validated(request, CardSerializer))).data
        )
