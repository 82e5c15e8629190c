"""API of candidates: which sentences of the corpus are labelled."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation import candidates, roles
from annotation.api.projects import (
    project_of,
)
from evalsvc.core.accounts.users import person
from evalsvc.core.errors.handlers import problems
from evalsvc.core.web.request_validation import validated


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
