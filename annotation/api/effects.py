"""API of the effect that a change would have, for curators."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from django.db.models import Q
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation import projects
from annotation.api.lookups import curated
from annotation.models import OntologyStep, Policy, Project
from annotation.ontology import guideline_versions, inventory, plans, versions
from annotation.queue import exclusions
from annotation.reports.plan_effects import LabelChange, Snapshot, effects_of_change
from annotation.reports.step_effects import StepEffect, StepEffects
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.handlers import problems
from evalsvc.core.web.request_validation import validated

Values = dict[str, Any]


# Each change with the fields it needs.
CHANGES: dict[str, tuple[tuple[str, ...], Callable[[Project, User, Values], object]]] = {
    "merge": (
        ("sources", "target"),
        lambda project, by, values: inventory.merge(
            project, values["sources"], target=values["target"], by=by
        ),
    ),
    "delete": (
        ("sources",),
        lambda project, by, values: inventory.delete(project, values["sources"], by=by),
    ),
    "rename": (
        ("sources", "target"),
        lambda project, by, values: inventory.rename(
            project, values["sources"][0], target=values["target"], by=by
        ),
    ),
    "split": (
        ("sources", "targets"),
        lambda project, by, values: inventory.split(
            project, values["sources"][0], targets=values["targets"], by=by
        ),
    ),
    "plan": (
        ("steps",),
        lambda project, by, values: plans.apply_plan(project, plans.planned(values["steps"]), by=by),
    ),
    "ask_again": (
        ("guideline", "labels", "again"),
        lambda project, by, values: guideline_versions.ask_again(
            project, values["guideline"], labels=values["labels"], again=values["again"], by=by
        ),
    ),
    "undo": (
        ("step",),
        lambda project, by, values: inventory.undo(
            get_object_or_404(project.steps, number=values["step"]), by=by
        ),
    ),
    "undo_plan": (
        ("step",),
        lambda project, by, values: plans.undo_plan(project, values["step"], by=by),
    ),
    "restore": (
        ("version",),
        lambda project, by, values: versions.restore(project, values["version"], by=by),
    ),
    "k": (("k",), lambda project, by, values: projects.set_k(project, k=values["k"], by=by)),
    "rule": (
        ("policy",),
        lambda project, by, values: projects.set_policy(project, policy=values["policy"], by=by),
    ),
    "overlap": (
        ("spans_may_overlap",),
        lambda project, by, values: projects.set_overlap(
            project, may_overlap=values["spans_may_overlap"], by=by
        ),
    ),
    "exclude": (
        ("annotator",),
        lambda project, by, values: exclusions.exclude_annotator(
            get_object_or_404(project.annotators, pk=values["annotator"]), by=by
        ),
    ),
    "include": (
        ("annotator",),
        lambda project, by, values: exclusions.include_annotator(
            get_object_or_404(project.annotators, pk=values["annotator"]), by=by
        ),
    ),
}


class PlannedStepSerializer(serializers.Serializer[Any]):
    operation = serializers.ChoiceField(choices=list(plans.OPERATIONS))
    sources = serializers.ListField(child=serializers.CharField(max_length=200), default=list)
    target = serializers.CharField(default="", allow_blank=True, max_length=200)
    targets = serializers.ListField(
        child=serializers.CharField(max_length=200), default=list, help_text="Of a split."
    )


class PlanSerializer(serializers.Serializer[Any]):
    steps = PlannedStepSerializer(many=True, allow_empty=False)


class OntologyStepSerializer(serializers.ModelSerializer[OntologyStep]):
    by = serializers.CharField(source="by.shown_name")

    class Meta:
        model = OntologyStep
        fields = ["number", "plan", "operation", "sources", "target", "targets", "by", "at", "undone_at"]
        read_only_fields = fields


class OntologySteps(APIView):
    @extend_schema(
        operation_id="ontology_steps",
        responses={200: OntologyStepSerializer(many=True)} | problems(401, 403, 404),
    )
    def get(self, request: Request, slug: str) -> Response:
        """List the steps, undone ones too. For curators."""
        project, _ = curated(request, slug)
        steps = project.steps.select_related("by")
        return Response(OntologyStepSerializer(steps, many=True).data)

    @extend_schema(
        operation_id="ontology_plan",
        request=PlanSerializer,
        responses={201: OntologyStepSerializer(many=True)} | problems(400, 401, 403, 404, 409),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Make the steps of a plan, all or none; `effects` previews it."""
        project, by = curated(request, slug)
        steps = [dict(step) for step in validated(request, PlanSerializer)["steps"]]
        made = plans.apply_plan(project, plans.planned(steps), by=by)
        return Response(OntologyStepSerializer(made, many=True).data, status=201)


class UndoSerializer(serializers.Serializer[Any]):
    alone = serializers.BooleanField(default=False, help_text="Undo only this step of its plan.")


class UndonePlan(APIView):
    @extend_schema(
        operation_id="ontology_plan_undo",
        request=UndoSerializer,
        responses={200: OntologyStepSerializer(many=True)} | problems(400, 401, 403, 404, 409),
    )
    def post(self, request: Request, slug: str, plan: int) -> Response:
        """Undo the active steps of the plan that began with this step, or this step alone."""
        project, by = curated(request, slug)
        alone = validated(request, UndoSerializer)["alone"]
        if alone:
            inventory.undo(get_object_or_404(project.steps, number=plan), by=by)
        else:
            plans.undo_plan(project, plan, by=by)
        which = Q(number=plan) if alone else plans.of_plan(plan)
        steps = project.steps.filter(which).select_related("by")
        return Response(OntologyStepSerializer(steps, many=True).data)


class ChangeSerializer(serializers.Serializer[Any]):
    change = serializers.ChoiceField(choices=[*CHANGES])
    sources = serializers.ListField(
        child=serializers.CharField(max_length=200), required=False, allow_empty=False
    )
    target = serializers.CharField(required=False, max_length=200)
    targets = serializers.ListField(
        child=serializers.CharField(max_length=200), required=False, help_text="Of a split."
    )
    steps = PlannedStepSerializer(many=True, required=False, help_text="Of a plan.")
    step = serializers.IntegerField(
        required=False, help_text="Number of the ontology step to undo; of a plan, of its first."
    )
    version = serializers.IntegerField(required=False, help_text="Version of the ontology to restore.")
    guideline = serializers.IntegerField(required=False, help_text="Version whose answers are asked again.")
    labels = serializers.ListField(child=serializers.CharField(max_length=200), required=False)
    again = serializers.BooleanField(required=False, help_text="false: count them again.")
    k = serializers.IntegerField(required=False)
    policy = serializers.ChoiceField(choices=Policy.choices, required=False)
    spans_may_overlap = serializers.BooleanField(required=False)
    annotator = serializers.IntegerField(required=False)

    def validate(self, attrs: Values) -> Values:
        needed, _ = CHANGES[attrs["change"]]
        errors = {name: "This field is required for this change." for name in needed if name not in attrs}
        errors |= {name: "This change does not take it." for name in attrs if name not in ("change", *needed)}
        if "steps" in attrs:
            attrs["steps"] = [dict(step) for step in attrs["steps"]]
        if attrs["change"] in ("rename", "split") and len(attrs.get("sources", "-")) > 1:
            errors["sources"] = "One label is renamed or split at a time."
        if errors:
            raise serializers.ValidationError(errors)
        return attrs


class SnapshotSerializer(serializers.Serializer[Snapshot]):
    """Figures of the counted items."""

    states = serializers.DictField(
        source="counts", child=serializers.IntegerField(), help_text="Items by state."
    )
    labels = serializers.SerializerMethodField(help_text="Labels of the inventory, without N/A.")
    facts = serializers.IntegerField()
    na = serializers.IntegerField(help_text="Items whose gold is N/A.")
    alpha = serializers.FloatField(allow_null=True, help_text="Krippendorff's α of complete answers.")
    source_precision = serializers.FloatField(
        source="quality.precision", allow_null=True, default=None,
        help_text="Of the source labels, on the items of the last frozen set.",
    )  # fmt: skip
    source_recall = serializers.FloatField(source="quality.recall", allow_null=True, default=None)

    def get_labels(self, snapshot: Snapshot) -> int:
        return len(snapshot.labels)


class LabelChangeSerializer(serializers.Serializer[LabelChange]):
    title = serializers.CharField()
    before = serializers.IntegerField(allow_null=True, help_text="Items with it; null: not in the inventory.")
    after = serializers.IntegerField(allow_null=True)
    why = serializers.CharField(allow_blank=True, help_text="Of a plan: the steps' part in it.")


class StepEffectSerializer(serializers.Serializer[StepEffect]):
    """One step of a plan, on what the steps before it leave."""

    items = serializers.IntegerField(help_text="Items with its labels in an answer or a decision.")
    facts = serializers.IntegerField(help_text="Facts of the gold with its labels.")
    reopened = serializers.IntegerField()
    ended = serializers.IntegerField()
    changed = serializers.IntegerField()
    decisions_lapsed = serializers.IntegerField()
    decisions_restored = serializers.IntegerField()


class StepEffectsSerializer(serializers.Serializer[StepEffects]):
    items = serializers.IntegerField(help_text="Items counted; fewer if their answers are long.")
    steps = StepEffectSerializer(many=True, help_text="In the order of the plan.")


class EffectSerializer(serializers.Serializer[Any]):
    items = serializers.IntegerField(help_text="Items counted: all, or 5,000 as a sample, decided first.")
    of = serializers.IntegerField(help_text="Items of the project.")
    reopened = serializers.IntegerField(help_text="Items that wait for answers or a decision again.")
    ended = serializers.IntegerField(help_text="Items that wait no longer.")
    changed = serializers.IntegerField(help_text="Items with another gold.")
    decisions_lapsed = serializers.IntegerField(help_text="Decisions kept, to be confirmed or to return.")
    decisions_restored = serializers.IntegerField(help_text="Decisions that count again.")
    decisions_dropped = serializers.IntegerField()
    decided_short = serializers.IntegerField(
        help_text="Items that are or were decided, and need another answer then, which nobody is asked for. "
        "What comes tells annotators which items were disputed: undo all decisions with the change of k."
    )
    before = SnapshotSerializer()
    after = SnapshotSerializer()
    changed_labels = LabelChangeSerializer(many=True)
    by_step = StepEffectsSerializer(allow_null=True, help_text="Of a plan.")


class Effects(APIView):
    @extend_schema(
        operation_id="project_effects",
        request=ChangeSerializer,
        responses={200: EffectSerializer} | problems(400, 401, 403, 404, 409),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Count what a change would do, without making it."""
        project, by = curated(request, slug)
        values = validated(request, ChangeSerializer)
        _, change = CHANGES[values["change"]]
        plan = plans.planned(values["steps"]) if "steps" in values else ()
        effects = effects_of_change(project, lambda copy: change(copy, by, values), by=by, plan=plan)
        compared = {"before": effects.before, "after": effects.after}
        body = asdict(effects.effect) | compared | {"changed_labels": effects.changed_labels()}
        body |= {"by_step": effects.steps}
        return Response(EffectSerializer(body).data)
