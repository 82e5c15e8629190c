"""API of candidates: which sentences of the corpus are labelled."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation import candidate_choices, candidates
from annotation.api.lookups import curated
from annotation.models import CandidateChoice
from evalsvc.core.errors.exceptions import Conflict
from evalsvc.core.errors.handlers import problems
from evalsvc.core.web.files_parser import FilesParser
from evalsvc.core.web.request_validation import validated

MAX_IDS = 100_000  # of the candidates that a request names


class CandidatesRequestSerializer(serializers.Serializer[Any]):
    order = serializers.ListField(
        child=serializers.ChoiceField(choices=list(candidates.CRITERIA)),
        help_text="Criteria, the first one has priority.",
    )
    top = serializers.IntegerField(default=0, min_value=0)
    predictions = serializers.FileField(required=False, help_text="Scores by sentence, for top.")
    random = serializers.IntegerField(default=0, min_value=0)
    seed = serializers.CharField(default="", allow_blank=True, max_length=100)
    ids = serializers.ListField(child=serializers.CharField(max_length=200), default=list, max_length=MAX_IDS)
    preview = serializers.BooleanField(default=False, help_text="Change nothing.")


class CandidatesSerializer(serializers.Serializer[Any]):
    by_criterion = serializers.DictField(child=serializers.IntegerField())
    kept = serializers.IntegerField(help_text="Answered or reserved already.")
    rest = serializers.IntegerField(help_text="Beside the candidates.")
    unknown_ids = serializers.IntegerField()


class CandidateChoiceSerializer(serializers.Serializer[Any]):
    choice = serializers.IntegerField(source="pk")
    state = serializers.ChoiceField(choices=CandidateChoice.State.choices)
    effect = CandidatesSerializer(allow_null=True, help_text="Null until it is counted.")
    failed = serializers.BooleanField(help_text="Its job failed: retry or cancel it.")
    reason = serializers.CharField(help_text="Why it failed, also once its sentences were put back.")
    done = serializers.IntegerField(help_text="Sentences its job has been through.")
    total = serializers.IntegerField(help_text="Steps in all; 0 while unknown.")


class PresentCandidatesSerializer(serializers.Serializer[Any]):
    work = serializers.IntegerField(help_text="Sentences that people label.")
    rest = serializers.IntegerField(help_text="Beside them.")
    latest = CandidateChoiceSerializer(allow_null=True, help_text="The latest choice made by jobs.")


class CandidateActionSerializer(serializers.Serializer[Any]):
    choice = serializers.IntegerField(help_text="The latest choice.")
    action = serializers.ChoiceField(choices=list(candidate_choices.ACTIONS))


def choice_body(choice: CandidateChoice) -> dict[str, Any]:
    job = candidate_choices.job_of(choice)
    body = {"pk": choice.pk, "state": choice.state, "effect": choice.effect or None}
    failed = candidate_choices.has_failed(choice, job)
    values = {name: getattr(job, name, 0) for name in ("done", "total")}
    return CandidateChoiceSerializer(
        body | values | {"failed": failed, "reason": candidate_choices.failure(choice)}
    ).data


class Candidates(APIView):
    parser_classes = [FilesParser]
    several = ("order", "ids")  # lists in a multipart body

    @extend_schema(
        operation_id="project_candidates_present",
        responses={200: PresentCandidatesSerializer} | problems(401, 403, 404),
    )
    def get(self, request: Request, slug: str) -> Response:
        """Count the candidates, and get the latest choice that jobs made."""
        project, _ = curated(request, slug)
        latest = candidate_choices.latest(project)
        return Response(candidates.of_project(project) | {"latest": choice_body(latest) if latest else None})

    @extend_schema(
        operation_id="project_candidates",
        request=CandidatesRequestSerializer,
        responses={200: CandidatesSerializer, 202: CandidateChoiceSerializer}
        | problems(400, 401, 403, 404, 409, 413, 422),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Choose what people label, or preview it. 202 in large projects.

        With more than 10,000 sentences a job counts the effect; without `preview` another one applies it.
        """
        project, by = curated(request, slug)
        body = validated(request, CandidatesRequestSerializer)
        file = body.get("predictions")
        wanted = candidates.Wanted(
            order=body["order"],
            top=body["top"],
            scores=candidates.read_scores_in_web(file, by) if file else {},
            random=body["random"],
            seed=body["seed"],
            ids=body["ids"],
        )
        if candidates.is_chosen_at_once(project):
            found = candidates.choose(project, wanted, by=by, preview=body["preview"])
            return Response(CandidatesSerializer(found).data)
        choice = candidate_choices.request(project, wanted, by=by, at_once=not body["preview"])
        return Response(choice_body(choice), status=202)


class LatestCandidateChoice(APIView):
    @extend_schema(
        operation_id="project_candidates_act",
        request=CandidateActionSerializer,
        responses={200: CandidateChoiceSerializer} | problems(400, 401, 403, 404, 409),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Apply a counted choice of candidates, cancel it, or retry its failed job."""
        project, by = curated(request, slug)
        body = validated(request, CandidateActionSerializer)
        choice = candidate_choices.latest(project)
        if choice is None or choice.pk != body["choice"]:
            hint = "Get the candidates of the project: they name the latest choice."
            raise Conflict("ended", "That is not the latest choice of candidates.", hint=hint)
        candidate_choices.ACTIONS[body["action"]](choice, by=by)
        choice.refresh_from_db(fields=["state"])
        return Response(choice_body(choice))
