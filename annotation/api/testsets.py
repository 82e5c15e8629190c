"""API of freezes and test sets."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.http import Http404, StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import generics, serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation import candidates, conversion, roles
from annotation.api.projects import (
    ANNOTATIONS_HELP,
    FORMAT_HELP,
    BatchSerializer,
    NewestFirst,
    OptionsField,
    project_of,
    receive,
    state_parameter,
)
from annotation.freezing import builder
from annotation.models import Batch, Card, Download, MadeExport, Publication
from annotation.releases import card as cards
from annotation.releases import publishing
from annotation.releases.comparison import Cause, FactChange, LineChange
from annotation.releases.earlier import compare_with
from annotation.releases.folder import zip_of
from annotation.releases.publishing import record_download
from annotation.testset import (
    BoardMove,
    Kind,
    Origin,
    TestSet,
    board_moves,
    export_lines,
    release,
    withdraw_release,
)
from evalsvc.core.accounts.users import person
from evalsvc.core.errors.handlers import problems
from evalsvc.core.formats.documents import UNITS
from evalsvc.core.formats.tag_schemes import SCHEMES
from evalsvc.core.web.downloads import jsonl_file, stored_nowhere_file, zip_file
from evalsvc.core.web.request_validation import query_choices, validated


class NewGoldSerializer(serializers.Serializer[Any]):
    file = serializers.FileField()
    name = serializers.CharField(max_length=120)
    version = serializers.CharField(max_length=20)
    kind = serializers.ChoiceField(choices=Kind.choices, default=Kind.RELATIONS)
    annotations = serializers.FileField(required=False, allow_empty_file=True, help_text=ANNOTATIONS_HELP)
    format = serializers.CharField(required=False, allow_blank=True, help_text=FORMAT_HELP)
    options = OptionsField(required=False, help_text="labels, negative, source_of, scheme, repair, column")


class NewFreezeSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=120)
    version = serializers.CharField(max_length=20)
    leave_out = serializers.BooleanField(default=False, help_text="Leave out open and disputed items.")


class TestSetSerializer(serializers.ModelSerializer[TestSet]):
    __test__ = False

    state = serializers.CharField(read_only=True, help_text="building, frozen or failed")
    project = serializers.CharField(source="project.slug", read_only=True, default=None, allow_null=True)
    source_twin = serializers.SerializerMethodField()
    statistics = serializers.DictField(
        child=serializers.JSONField(),
        allow_null=True,
        read_only=True,
        help_text="null until the job has computed them.",
    )

    class Meta:
        model = TestSet
        fields = [
            *("slug", "name", "version", "kind", "origin", "state", "project", "source_twin", "labels"),
            *("negative", "statistics", "rows", "sha256", "reason", "created_at", "frozen_at"),
        ]
        read_only_fields = fields

    def get_source_twin(self, test_set: TestSet) -> str | None:
        """Return the slug of the source set frozen with an annotated one."""
        source_set = getattr(test_set, "source_twin", None)
        return source_set.slug if source_set else None


class Freeze(APIView):
    @extend_schema(
        operation_id="project_freeze",
        request=NewFreezeSerializer,
        responses={202: TestSetSerializer} | problems(400, 401, 403, 404, 409),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Freeze decided items into an immutable test set, by a job."""
        project, by = project_of(request, slug), person(request)
        roles.require(project, by, roles.CURATOR)
        test_set = builder.freeze(project, by=by, **validated(request, NewFreezeSerializer))
        return Response(TestSetSerializer(test_set).data, status=202)


class CandidatesRequestSerializer(serializers.Serializer[Any]):
    order = serializers.ListField(
        child=serializers.ChoiceField(choices=list(candidates.CRITERIA)),
        help_text="Criteria, the first one has priority.",
    )
    top = serializers.IntegerField(default=0, min_value=0)
    predictions = serializers.FileField(required=False, help_text="Scores by sentence, for top.")
    random = serializers.IntegerField(default=0, min_value=0)
    seed = serializers.CharField(default="", allow_blank=True, max_length=100)
    ids = serializers.ListField(child=serializers.CharField(max_length=200), default=list)
    preview = serializers.BooleanField(default=False, help_text="Change nothing.")


class CandidatesSerializer(serializers.Serializer[Any]):
    by_criterion = serializers.DictField(child=serializers.IntegerField())
    kept = serializers.IntegerField(help_text="Answered or reserved already.")
    rest = serializers.IntegerField(help_text="Beside the candidates.")
    unknown_ids = serializers.IntegerField()


class Candidates(APIView):
    parser_classes = [MultiPartParser]

    @extend_schema(
        operation_id="project_candidates",
        request=CandidatesRequestSerializer,
        responses={200: CandidatesSerializer} | problems(400, 401, 403, 404, 409, 413, 422),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Choose the sentences that people label, or preview a choice."""
        project, by = project_of(request, slug), person(request)
        roles.require(project, by, roles.CURATOR)
        body = validated(request, CandidatesRequestSerializer)
        file = body.get("predictions")
        wanted = candidates.Wanted(
            order=body["order"],
            top=body["top"],
            scores=candidates.read_scores_in_web(file) if file else {},
            random=body["random"],
            seed=body["seed"],
            ids=body["ids"],
        )
        found = candidates.choose(project, wanted, by=by, preview=body["preview"])
        return Response(CandidatesSerializer(found).data)


class TestSets(generics.ListAPIView[TestSet]):
    __test__ = False
    serializer_class = TestSetSerializer
    pagination_class = NewestFirst
    parser_classes = [MultiPartParser]

    def get_queryset(self) -> QuerySet[TestSet]:
        filters = query_choices(
            self.request, state=TestSet.State.values, kind=Kind.values, origin=Origin.values
        )
        if slug := self.request.query_params.get("project", ""):
            filters["project__slug"] = slug
        test_sets = TestSet.objects.visible_to(person(self.request)).filter(**filters)
        return test_sets.select_related("project", "source_twin")

    @extend_schema(
        operation_id="test_sets_list",
        parameters=[
            state_parameter(TestSet.State),
            OpenApiParameter("kind", str, enum=Kind.values),
            OpenApiParameter("origin", str, enum=Origin.values),
            OpenApiParameter("project", str, description="Slug of the project it was frozen from."),
        ],
        responses={200: TestSetSerializer(many=True)} | problems(400, 401, 404),
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """List the test sets of your projects and those you imported."""
        return super().get(request, *args, **kwargs)

    @extend_schema(
        operation_id="test_sets_import",
        request={"multipart/form-data": NewGoldSerializer},
        responses={202: BatchSerializer} | problems(400, 401, 403, 409, 413),
    )
    def post(self, request: Request) -> Response:
        """Import a published test set. One invalid line rejects the whole file."""
        body = validated(request, NewGoldSerializer)
        identity = {name: body[name] for name in ("name", "version", "kind")}
        body["options"] = (body.get("options") or {}) | identity
        batch = receive(request, body, what=Batch.What.GOLD)
        return Response(BatchSerializer(batch).data, status=202)


def visible_test_set(request: Request, slug: str) -> TestSet:
    test_sets = TestSet.objects.visible_to(person(request)).select_related("project")
    test_set = test_sets.filter(slug=slug).first()
    if test_set is None:
        raise Http404
    return test_set


class OneTestSet(APIView):
    @extend_schema(operation_id="test_set", responses={200: TestSetSerializer} | problems(401, 404))
    def get(self, request: Request, slug: str) -> Response:
        """Get a test set: its origin, labels, statistics and digest."""
        return Response(TestSetSerializer(visible_test_set(request, slug)).data)


class ReleaseSerializer(serializers.Serializer[Any]):
    username = serializers.CharField(max_length=150)
    released = serializers.BooleanField(default=True, help_text="false ends the release.")


class ReleasesSerializer(serializers.Serializer[Any]):
    usernames = serializers.ListField(child=serializers.CharField())


class Releases(APIView):
    @extend_schema(
        operation_id="test_set_releases", responses={200: ReleasesSerializer} | problems(401, 403, 404, 409)
    )
    def get(self, request: Request, slug: str) -> Response:
        """List the organisers who may use the set in benchmarks.

        They cannot download its gold.
        """
        test_set = visible_test_set(request, slug)
        test_set.require_reader(person(request))
        return Response({"usernames": list(test_set.releases.values_list("user__username", flat=True))})

    @extend_schema(
        operation_id="test_set_release",
        request=ReleaseSerializer,
        responses={200: ReleasesSerializer} | problems(400, 401, 403, 404, 409),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Release the set to an organiser, or end a release.

        For those who may read the gold.
        """
        test_set, user = visible_test_set(request, slug), person(request)
        test_set.require_reader(user)
        body = validated(request, ReleaseSerializer)
        act = release if body["released"] else withdraw_release
        act(test_set, username=body["username"], by=user)
        return self.get(request, slug)


class ReleaseFolder(APIView):
    @extend_schema(
        operation_id="test_set_release_folder",
        parameters=[
            OpenApiParameter("gold", str, enum=["0", "1"], description="0 leaves out all files with gold.")
        ],
        responses={(200, "application/zip"): OpenApiTypes.BINARY} | problems(400, 401, 403, 404, 409),
    )
    def get(self, request: Request, slug: str) -> StreamingHttpResponse:
        """Download all files of a release as one zip, the same bytes each time.

        For curators and importers.
        """
        test_set = visible_test_set(request, slug)
        test_set.require_reader(person(request))
        with_gold = query_choices(request, gold=["0", "1"]).get("gold") != "0"
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

    def get_terms_sha256(self, publication: Publication) -> str:
        """Return the digest of the terms, which acceptance names."""
        return publishing.terms_sha256(publication)

    def get_accepted(self, publication: Publication) -> bool:
        """Return True if you accepted these terms."""
        return publishing.has_accepted(publication, self.context["user"])


def _publication(request: Request, publication: Publication) -> Response:
    return Response(PublicationSerializer(publication, context={"user": person(request)}).data)


class WithdrawSerializer(serializers.Serializer[Any]):
    reason = serializers.CharField(max_length=2_000, help_text="Shown on the page, which stays.")


class Publish(APIView):
    @extend_schema(
        operation_id="test_set_publish",
        request=PublicationSerializer,
        responses={200: PublicationSerializer} | problems(400, 401, 403, 404, 409),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Publish a test set, or change its publication. For its curators or importer."""
        test_set, by = visible_test_set(request, slug), person(request)
        test_set.require_reader(by)
        return _publication(
            request, publishing.publish(test_set, by=by, **validated(request, PublicationSerializer))
        )


class Withdraw(APIView):
    @extend_schema(
        operation_id="test_set_withdraw",
        request=WithdrawSerializer,
        responses={200: PublicationSerializer} | problems(400, 401, 403, 404, 409),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Withdraw a published test set. For its curators or importer."""
        test_set, by = visible_test_set(request, slug), person(request)
        test_set.require_reader(by)
        reason = validated(request, WithdrawSerializer)["reason"]
        return _publication(request, publishing.withdraw(test_set, reason=reason, by=by))


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
        responses={(200, "application/zip"): OpenApiTypes.BINARY} | problems(401, 403, 404, 409),
    )
    def get(self, request: Request, slug: str) -> StreamingHttpResponse:
        """Download a published test set as one zip. Downloads are logged."""
        publication, user = _published(request, slug), person(request)
        publishing.require_download(publication, user)
        test_set, with_gold = publication.test_set, publication.with_gold
        parts = zip_of(test_set, with_gold=with_gold)
        what = "published release" if with_gold else "published release without gold"
        record_download(test_set, user, what)
        return zip_file(f"{test_set.slug}.zip", parts)


class CardSerializer(serializers.ModelSerializer[Card]):
    words = serializers.CharField(required=False, allow_blank=True, max_length=cards.MAX_WORDS)
    authors = serializers.ListField(child=serializers.CharField(max_length=200), required=False)
    languages = serializers.ListField(child=serializers.CharField(max_length=20), required=False)

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
        test_set, by = visible_test_set(request, slug), person(request)
        test_set.require_reader(by)
        return Response(
            CardSerializer(cards.change(test_set, by=by, **validated(request, CardSerializer))).data
        )


class Lines(APIView):
    @extend_schema(
        operation_id="test_set_lines",
        responses={(200, "application/x-ndjson"): OpenApiTypes.BINARY} | problems(401, 403, 404, 409),
    )
    def get(self, request: Request, slug: str) -> StreamingHttpResponse:
        """Download the gold, byte for byte as hashed. For curators and importers."""
        test_set = visible_test_set(request, slug)
        test_set.require_reader(person(request))
        record_download(test_set, person(request), "gold")
        headers = {"X-Content-SHA256": test_set.sha256}
        return jsonl_file(f"{test_set.slug}.jsonl", export_lines(test_set), **headers)


EXPORT_PARAMETERS = [
    OpenApiParameter("key", str, OpenApiParameter.PATH, description="Of the format, such as spert or brat."),
    OpenApiParameter(
        "scheme", str, enum=SCHEMES, description="Tag scheme of CoNLL columns; IOB2 if not stated."
    ),
    OpenApiParameter("unit", str, enum=UNITS, description="Unit of offsets; doccano needs it."),
]


def _export_options(request: Request) -> dict[str, Any]:
    return {name: request.query_params.get(name, "") for name in ("scheme", "unit")}


class MadeSerializer(serializers.ModelSerializer[MadeExport]):
    class Meta:
        model = MadeExport
        fields = ["format", "size", "lost"]
        read_only_fields = fields


class Export(APIView):
    @extend_schema(
        operation_id="test_set_export",
        parameters=EXPORT_PARAMETERS,
        responses={(200, "application/octet-stream"): OpenApiTypes.BINARY}
        | problems(400, 401, 403, 404, 409),
    )
    def get(self, request: Request, slug: str, key: str) -> StreamingHttpResponse:
        """Download the gold in the format of another tool; several files come as a zip."""
        test_set = visible_test_set(request, slug)
        test_set.require_reader(person(request))
        made = conversion.export(test_set, key, **_export_options(request))
        record_download(test_set, person(request), f"gold as {key}"[:40])
        return stored_nowhere_file(made.file, made.name)

    @extend_schema(
        operation_id="test_set_export_make",
        parameters=EXPORT_PARAMETERS[:1],
        request=None,
        responses={202: MadeSerializer} | problems(400, 401, 403, 404, 409),
    )
    def post(self, request: Request, slug: str, key: str) -> Response:
        """Have a job write a format that needs one, such as spacy-docbin. `size` is null until it has."""
        test_set = visible_test_set(request, slug)
        made = conversion.make(test_set, key, by=person(request))
        return Response(MadeSerializer(made).data, status=202)


class LossesSerializer(serializers.Serializer[Any]):
    format = serializers.CharField()
    unit = serializers.CharField(help_text="What offsets count.")
    loses = serializers.CharField(help_text="What is lost of any set.")
    lost = serializers.DictField(
        child=serializers.IntegerField(), help_text="What is lost of this set, counted."
    )


class Losses(APIView):
    @extend_schema(
        operation_id="test_set_losses",
        parameters=EXPORT_PARAMETERS,
        responses={200: LossesSerializer} | problems(400, 401, 403, 404, 409),
    )
    def get(self, request: Request, slug: str, key: str) -> Response:
        """Count what a format can't hold of the set."""
        test_set = visible_test_set(request, slug)
        test_set.require_reader(person(request))
        options = _export_options(request)
        lost = conversion.losses(test_set, key, **options)
        writer = conversion.choose(test_set, key, **options).writer
        assert writer is not None
        row = {"format": key, "unit": writer.unit, "loses": writer.loses, "lost": lost}
        return Response(LossesSerializer(row).data)
