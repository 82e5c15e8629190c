"""API of taking part: terms, entries of teams, announcements, and the archive for organisers."""

from __future__ import annotations

from typing import Any, cast

from django.http import StreamingHttpResponse
from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from evalsvc.core.accounts import users
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import Conflict
from evalsvc.core.errors.handlers import problems
from evalsvc.core.web.request_validation import query_choices, validated
from evalsvc.evaluation import roles
from evalsvc.evaluation.api.archive import archive_file
from evalsvc.evaluation.api.lookups import organised
from evalsvc.evaluation.benchmarks import announcements, entrants, final_entries
from evalsvc.evaluation.models import Announcement, Benchmark, Entrant, Terms


class TermsSerializer(serializers.ModelSerializer[Terms]):
    class Meta:
        model = Terms
        fields = ["number", "text", "created_at"]
        read_only_fields = fields


class NewTermsSerializer(serializers.Serializer[Any]):
    text = serializers.CharField(
        required=False,
        allow_blank=True,
        help_text="Markdown; teams accept a changed text before their next submission. Empty: no terms.",
    )
    approval = serializers.BooleanField(required=False, help_text="True: organisers approve each team first.")
    preview = serializers.BooleanField(
        default=False, help_text="Change nothing; `effect` names the teams for which it would matter."
    )


class FinalRunSerializer(serializers.Serializer[Any]):
    phase = serializers.CharField(allow_blank=True, help_text="dev or test; empty: without phases.")
    system = serializers.CharField()
    run = serializers.CharField()
    submission = serializers.IntegerField()


class EntrantSerializer(serializers.ModelSerializer[Entrant]):
    team = serializers.CharField(source="team.slug")
    terms = serializers.IntegerField(
        source="terms.number", default=None, allow_null=True, help_text="Version of the terms it accepted."
    )

    finals = serializers.SerializerMethodField(help_text="Final entries: one per phase, or per system.")

    class Meta:
        model = Entrant
        fields = ["team", "state", "reason", "terms", "accepted_at", "created_at", "decided_at", "finals"]
        read_only_fields = fields

    @extend_schema_field(FinalRunSerializer(many=True))
    def get_finals(self, entrant: Entrant) -> list[dict[str, Any]]:
        known = cast("dict[str, Any]", self.context)
        if "finals" not in known:  # entrants of a list share their benchmark
            known["finals"] = final_entries.of_teams(entrant.benchmark)
        finals: list[dict[str, Any]] = known["finals"].get(entrant.team_id, [])
        return finals


class TakingPartSerializer(serializers.Serializer[Any]):
    terms = TermsSerializer(allow_null=True, help_text="The terms in force; null: none.")
    approval = serializers.BooleanField(help_text="True when organisers approve each team first.")
    entries = EntrantSerializer(many=True, help_text="Entries of your teams.")
    effect = serializers.CharField(help_text="What a preview would change; else empty.")


class EntryRequestSerializer(serializers.Serializer[Any]):
    team = serializers.SlugField(
        required=False, default="", help_text="May be left out when you have one team."
    )
    terms = serializers.IntegerField(
        required=False, allow_null=True, default=None, help_text="Version of the terms that you accept."
    )


class AdmissionOfTeamSerializer(serializers.Serializer[Any]):
    approve = serializers.BooleanField()
    reason = serializers.CharField(
        required=False, allow_blank=True, default="", max_length=500, help_text="Needed to decline."
    )


class AnnouncementSerializer(serializers.ModelSerializer[Announcement]):
    class Meta:
        model = Announcement
        fields = ["id", "title", "text", "created_at"]
        read_only_fields = fields


class NewAnnouncementSerializer(serializers.Serializer[Any]):
    title = serializers.CharField(max_length=120)
    text = serializers.CharField(
        required=False,
        allow_blank=True,
        default="",
        max_length=announcements.MAX_LENGTH,
        help_text="Markdown.",
    )


def _taking_part(benchmark: Benchmark, person: User, effect: str = "") -> dict[str, Any]:
    mine = benchmark.entrants.filter(team__in=roles.teams_of(person)).select_related("team", "terms")
    shown = {"terms": entrants.terms_of(benchmark), "approval": benchmark.approval, "entries": mine}
    return dict(TakingPartSerializer(shown | {"effect": effect}).data)


class Entry(APIView):
    for_teams = True

    @extend_schema(operation_id="entry", responses={200: TakingPartSerializer} | problems(401, 404))
    def get(self, request: Request, slug: str) -> Response:
        """What taking part needs, and the entries of your teams."""
        return Response(_taking_part(roles.benchmark_for(request.user, slug), users.person(request)))

    @extend_schema(
        operation_id="entry_make",
        request=EntryRequestSerializer,
        responses={200: EntrantSerializer} | problems(400, 401, 403, 404, 409),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Take part with a team: accept the terms, and ask for approval where it is needed."""
        benchmark, values = (
            roles.benchmark_for(request.user, slug),
            validated(request, EntryRequestSerializer),
        )
        team = roles.team_of(request, named=values["team"])
        entrant = entrants.enter(benchmark, team, by=users.person(request), terms=values["terms"])
        return Response(EntrantSerializer(entrant).data)


class BenchmarkTerms(APIView):
    @extend_schema(
        operation_id="terms_set",
        request=NewTermsSerializer,
        responses={200: TakingPartSerializer} | problems(400, 401, 403, 404),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Put new terms in force, or set whether teams are approved; or preview that."""
        benchmark, person = organised(request, slug)
        values = validated(request, NewTermsSerializer)
        if values["preview"]:
            text, needed = values.get("text"), values.get("approval")
            effect = entrants.effect(benchmark, by=person, text=text, needed=needed)
            return Response(_taking_part(benchmark, person, effect))
        if "text" in values:
            entrants.set_terms(benchmark, values["text"], by=person)
        if "approval" in values:
            entrants.set_approval(benchmark, needed=values["approval"], by=person)
        return Response(_taking_part(benchmark, person))


class Entrants(APIView):
    @extend_schema(
        operation_id="entrants",
        parameters=[OpenApiParameter("state", str, enum=Entrant.State.values)],
        responses={200: EntrantSerializer(many=True)} | problems(400, 401, 403, 404),
    )
    def get(self, request: Request, slug: str) -> Response:
        """List the teams that take part, for organisers."""
        benchmark, _ = organised(request, slug)
        chosen = query_choices(request, state=Entrant.State.values)
        rows = benchmark.entrants.filter(**chosen).select_related("team", "terms")
        return Response(EntrantSerializer(rows, many=True).data)


class OneEntrant(APIView):
    @extend_schema(
        operation_id="entrant_decide",
        request=AdmissionOfTeamSerializer,
        responses={200: EntrantSerializer} | problems(400, 401, 403, 404, 409),
    )
    def post(self, request: Request, slug: str, team: str) -> Response:
        """Approve or decline a team; runs of a declined team stay, and those that wait are scored."""
        benchmark, person = organised(request, slug)
        entrant = benchmark.entrants.select_related("team", "terms").filter(team__slug=team).first()
        if entrant is None:
            detail = f"No team {team} has asked to take part in {benchmark}."
            raise Conflict("not_entered", detail, hint="Its members ask on the page “Take part”.")
        entrants.decide(entrant, by=person, **validated(request, AdmissionOfTeamSerializer))
        return Response(EntrantSerializer(entrant).data)


class Announcements(APIView):
    for_teams = True

    @extend_schema(
        operation_id="announcements",
        responses={200: AnnouncementSerializer(many=True)} | problems(401, 404),
    )
    def get(self, request: Request, slug: str) -> Response:
        """List the announcements of a benchmark, newest first."""
        benchmark = roles.benchmark_for(request.user, slug)
        return Response(AnnouncementSerializer(benchmark.announcements.all()[:100], many=True).data)

    @extend_schema(
        operation_id="announcement_make",
        request=NewAnnouncementSerializer,
        responses={201: AnnouncementSerializer} | problems(400, 401, 403, 404),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Announce something on the benchmark's page and in its feed."""
        benchmark, person = organised(request, slug)
        made = announcements.announce(benchmark, by=person, **validated(request, NewAnnouncementSerializer))
        return Response(AnnouncementSerializer(made).data, status=201)


class RemoveAnnouncement(APIView):
    @extend_schema(
        operation_id="announcement_remove",
        request=None,
        responses={204: None} | problems(401, 403, 404),
    )
    def post(self, request: Request, slug: str, pk: int) -> Response:
        """Take an announcement back."""
        benchmark, person = organised(request, slug)
        announcements.remove(get_object_or_404(benchmark.announcements, pk=pk), by=person)
        return Response(status=204)


class Archive(APIView):
    @extend_schema(
        operation_id="archive",
        responses={(200, "application/zip"): OpenApiTypes.BINARY} | problems(401, 403, 404),
    )
    def get(self, request: Request, slug: str) -> StreamingHttpResponse:
        """All entrants, runs, files and scores of a benchmark as one zip, for organisers."""
        benchmark, person = organised(request, slug)
        return archive_file(benchmark, person=person)
