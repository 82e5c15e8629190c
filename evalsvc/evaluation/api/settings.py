"""API of settings: dates, display, versions of the gold, inputs."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.testset import TestSet
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.errors.handlers import problems
from evalsvc.core.web.downloads import jsonl_file
from evalsvc.core.web.request_validation import validated
from evalsvc.evaluation import roles
from evalsvc.evaluation.api.effects import DisplayEffectSerializer, RevisionEffectSerializer
from evalsvc.evaluation.api.lookups import organised, setting_of
from evalsvc.evaluation.api.shown_settings import SettingSerializer, VersionSerializer
from evalsvc.evaluation.benchmarks import creation, inputs, revision_effect
from evalsvc.evaluation.comparison import display_effect
from evalsvc.evaluation.dates import is_doubtful, is_in_calendar, moment, stated
from evalsvc.evaluation.disclosure import split
from evalsvc.evaluation.models import Benchmark, Setting


# ---- serializers ------------------------------------------------------------------------------------
class MomentField(serializers.DateTimeField):
    """A moment, left without a zone if it comes without."""

    def __init__(self, **more: Any) -> None:
        super().__init__(required=False, allow_null=True, **more)

    def enforce_timezone(self, value: datetime) -> datetime:
        if not is_in_calendar(value):
            self.fail("overflow")
        return value if value.tzinfo is None else super().enforce_timezone(value)


class ShownSerializer(serializers.Serializer[Any]):
    """Opening times and display of a setting."""

    phase = serializers.ChoiceField(choices=Setting.Phase.choices, required=False, allow_blank=True)
    opens_at = MomentField(help_text="Without an offset: in the time zone of the benchmark.")
    closes_at = MomentField(help_text="As opens_at. A new date that has passed needs past_meant.")
    past_meant = serializers.BooleanField(
        required=False, help_text="True confirms that the setting closes, and shows its figures, at once."
    )
    sealed = serializers.BooleanField(
        required=False, help_text="Only organisers see scores until the setting closes."
    )
    disclosure = serializers.ChoiceField(
        choices=Setting.Disclosure.choices,
        required=False,
        help_text="What teams see until it closes: only rounded figures (hidden), or all, which reveal the "
        "gold (open). Default: open in the dev phase, else hidden.",
    )
    class_rows = serializers.BooleanField(
        required=False, help_text="While hidden: F1 of classes with 200 gold labels or more is shown."
    )
    ladder = serializers.FloatField(
        required=False,
        allow_null=True,
        max_value=0.5,
        help_text="While hidden: step of the Ladder. The main measure alone is shown, of runs that improve "
        "the best figure shown of their team by more than this.",
    )
    measures = serializers.ListField(
        child=serializers.CharField(max_length=60),
        required=False,
        max_length=200,
        help_text="Keys of the measures shown; empty: all.",
    )
    row_rule = serializers.CharField(
        required=False,
        max_length=50,
        help_text="Runs that the row of a system shows: mean, latest (with figures), final (chosen by the "
        "team, else the latest), entry (one chosen of all systems of the team; the others have no rank) or "
        "best:KEY (by the main measure of another setting).",
    )
    digits = serializers.IntegerField(required=False, allow_null=True, min_value=0, max_value=6)
    lower_is_better = serializers.BooleanField(
        required=False, allow_null=True, help_text="Direction of the main measure; null: its default."
    )


class ChangeSettingSerializer(ShownSerializer):
    title = serializers.CharField(max_length=80, required=False)
    main = serializers.CharField(max_length=60, required=False, help_text="Key of the main measure.")
    preview = serializers.BooleanField(
        default=False,
        help_text="Change nothing; `effect` states what teams would see and how the order changes.",
    )


class ChangedSettingSerializer(SettingSerializer):
    effect = serializers.SerializerMethodField(help_text="Of a preview; else null.")

    class Meta(SettingSerializer.Meta):
        fields = [*SettingSerializer.Meta.fields, "effect"]
        read_only_fields = fields

    @extend_schema_field(DisplayEffectSerializer(allow_null=True))
    def get_effect(self, setting: Setting) -> dict[str, Any] | None:
        effect = self.context["effect"]
        return DisplayEffectSerializer(effect).data if effect else None


class NewVersionSerializer(serializers.Serializer[Any]):
    test_set = serializers.SlugField(help_text="Slug of a frozen test set.")
    only = serializers.SlugField(required=False)
    note = serializers.CharField(max_length=200, required=False, help_text="Reason.")
    preview = serializers.BooleanField(default=False, help_text="Begin nothing, only return the effect.")


class NewSettingSerializer(ShownSerializer):
    key = serializers.SlugField(max_length=40)
    title = serializers.CharField(max_length=80)
    test_set = serializers.SlugField(help_text="Slug of a frozen test set.")
    unit = serializers.ChoiceField(choices=Setting.Unit.choices)
    main = serializers.CharField(help_text="Key of the main measure.")
    share = serializers.FloatField(
        required=False,
        allow_null=True,
        min_value=split.LEAST_SHARE,
        max_value=split.MOST_SHARE,
        help_text="Split: share of items or pairs scored while open; a second, sealed setting, with `-rest` "
        "after its key, scores the rest. Null: no split.",
    )
    only = serializers.SlugField(
        required=False, help_text="Slug of a test set: limits the setting to its ids."
    )


# ---- views ------------------------------------------------------------------------------------------
def frozen(slug: str, *, field: str, by: User) -> TestSet:
    test_set = TestSet.objects.usable_by(by).filter(slug=slug).first()
    if test_set is None:
        raise ValidationError({field: f"No frozen test set {slug} is available to you."})
    return test_set


def with_sets(values: dict[str, Any], *, by: User) -> dict[str, Any]:
    """Replace slugs of test sets by the sets."""
    values = dict(values, test_set=frozen(values["test_set"], field="test_set", by=by))
    values["only"] = frozen(values["only"], field="only", by=by) if values.get("only") else None
    return values


def with_dates(
    values: dict[str, Any], benchmark: Benchmark, setting: Setting | None = None
) -> dict[str, Any]:
    """Read dates in the zone of the benchmark; question a new closing date that has passed."""
    meant = values.pop("past_meant", False)
    values |= {name: moment(values[name], benchmark) for name in ("opens_at", "closes_at") if name in values}
    closes_at = values.get("closes_at")
    if closes_at and not meant and is_doubtful(closes_at, setting.closes_at if setting else None):
        detail = f"The closing date {stated(closes_at, benchmark)} has passed."
        raise DomainError(
            "past_closing", detail, hint="To confirm it, send past_meant: true.", field="closes_at"
        )
    return values


class Settings(APIView):
    @extend_schema(
        operation_id="settings_create",
        request=NewSettingSerializer,
        responses={201: SettingSerializer} | problems(400, 401, 403, 404, 409),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Add a setting: a frozen test set with a unit."""
        benchmark, person = organised(request, slug)
        values = with_sets(validated(request, NewSettingSerializer), by=person)
        values = with_dates(values, benchmark)
        setting = creation.add_setting(benchmark, by=person, **values)
        return Response(SettingSerializer(setting).data, status=201)


class OneSetting(APIView):
    @extend_schema(
        operation_id="setting_change",
        request=ChangeSettingSerializer,
        responses={200: ChangedSettingSerializer} | problems(400, 401, 403, 404, 409),
    )
    def patch(self, request: Request, slug: str, key: str) -> Response:
        """Change title, dates and display of a setting, or preview what teams would see and ranks."""
        benchmark, person = organised(request, slug)
        values = validated(request, ChangeSettingSerializer)
        setting = setting_of(benchmark, key)
        preview = values.pop("preview")
        values, effect = with_dates(values, benchmark, setting), None
        if preview:
            effect = display_effect.of_change(setting, by=person, **values)
        else:
            setting = creation.change_setting(setting, by=person, **values)
        return Response(ChangedSettingSerializer(setting, context={"effect": effect}).data)


class Versions(APIView):
    for_teams = True

    @extend_schema(
        operation_id="setting_versions",
        responses={200: VersionSerializer(many=True)} | problems(401, 404),
    )
    def get(self, request: Request, slug: str, key: str) -> Response:
        """Versions of the setting, oldest first."""
        setting = setting_of(roles.benchmark_for(request.user, slug), key)
        versions = setting.versions.select_related("test_set", "only")
        return Response(VersionSerializer(versions, many=True).data)

    @extend_schema(
        operation_id="setting_revise",
        request=NewVersionSerializer,
        responses={200: RevisionEffectSerializer, 201: VersionSerializer} | problems(400, 401, 403, 404, 409),
    )
    def post(self, request: Request, slug: str, key: str) -> Response:
        """Begin a version with another gold, or preview that; old scores stay."""
        benchmark, person = organised(request, slug)
        values = with_sets(validated(request, NewVersionSerializer), by=person)
        setting = setting_of(benchmark, key)
        if values.pop("preview"):
            effect = revision_effect.of_revision(setting, by=person, **values)
            return Response(RevisionEffectSerializer(effect).data)
        version = creation.revise_setting(setting, by=person, **values)
        return Response(VersionSerializer(version).data, status=201)


class Inputs(APIView):
    for_teams = True

    @extend_schema(
        operation_id="setting_inputs",
        responses={(200, "application/x-ndjson"): OpenApiTypes.BINARY} | problems(401, 404, 409),
    )
    def get(self, request: Request, slug: str, key: str) -> StreamingHttpResponse:
        """Download the items to predict, in order and without gold."""
        setting = setting_of(roles.benchmark_for(request.user, slug), key)
        roles.require_begun(setting, request.user)
        return jsonl_file(f"{slug}-{key}.jsonl", inputs.input_lines(setting))
