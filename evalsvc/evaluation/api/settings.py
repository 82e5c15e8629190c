"""API of settings: dates, display, versions of the gold, inputs."""

from __future__ import annotations

from datetime import datetime
from functools import cached_property
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
from evalsvc.evaluation.benchmarks import creation, inputs, revision_effect
from evalsvc.evaluation.comparison import display_effect
from evalsvc.evaluation.dates import is_doubtful, is_in_calendar, moment, stated
from evalsvc.evaluation.disclosure import gold_digest, split
from evalsvc.evaluation.disclosure.policy import Disclosed
from evalsvc.evaluation.measures.computation import of_setting
from evalsvc.evaluation.models import Benchmark, Setting, SettingVersion


# ---- serializers ------------------------------------------------------------------------------------
class ComputationSerializer(serializers.Serializer[Any]):
    """Choices behind a score; those that do not apply are absent."""

    negative = serializers.CharField(required=False, help_text="The negative class.")
    similar_to_negative = serializers.CharField(
        required=False, help_text="A class that looks like the negative one, but is averaged."
    )
    include_negative = serializers.BooleanField(required=False, help_text="True when it is averaged.")
    beta = serializers.FloatField(required=False, help_text="β of F_β in averages and figures per class.")
    operating_point = serializers.CharField(
        required=False, help_text="Score from which claims count: τ*, or threshold."
    )
    threshold = serializers.FloatField(required=False, allow_null=True, help_text="null: τ*.")
    aggregate = serializers.CharField(required=False, help_text="From sentences to bags.")
    profile = serializers.CharField(required=False, help_text="Profile of ranked claims.")
    scheme = serializers.CharField(required=False, help_text="Tagging scheme.")
    repair = serializers.CharField(required=False)
    casefold = serializers.BooleanField(required=False)
    symmetric = serializers.ListField(
        child=serializers.CharField(), required=False, help_text="Relations without direction."
    )
    old_labels = serializers.DictField(
        child=serializers.CharField(allow_null=True),
        required=False,
        help_text="Old names of labels and what they became; null: deleted.",
    )
    missing = serializers.CharField(
        required=False, help_text="Items without a prediction: refuse, wrong, or empty (no label)."
    )
    missing_by_form = serializers.DictField(
        child=serializers.CharField(), required=False, help_text="The same by form of prediction."
    )
    gold_sha256 = serializers.CharField(required=False, help_text="Absent while it is held back.")
    gold_commitment = serializers.CharField(required=False, help_text="SHA-256 of the salt and the digest.")
    gold_salt = serializers.CharField(required=False, help_text="Salt, shown with the digest.")
    gold_version = serializers.IntegerField(required=False, help_text="Version of the setting.")
    scorer = serializers.CharField(required=False, help_text="Version of the scorer.")


class SplitSerializer(serializers.Serializer[Setting]):
    """Part of a split, and what checks its draw."""

    share = serializers.FloatField(help_text="Share of items or pairs scored while the phase is open.")
    rest = serializers.SerializerMethodField(help_text="True: it scores the rest, when the phase closes.")
    seed_sha256 = serializers.SerializerMethodField(help_text="Digest of the seed, from the beginning.")
    seed = serializers.SerializerMethodField(help_text="The seed; empty until the phase closes.")

    def get_rest(self, setting: Setting) -> bool:
        return setting.rest_of_id is not None

    def get_seed_sha256(self, setting: Setting) -> str:
        return split.seed_sha256(setting)

    def get_seed(self, setting: Setting) -> str:
        return setting.share_seed if setting.has_closed() else ""


class WithGold(serializers.Serializer[Any]):
    """Digest of the gold, or the commitment to it."""

    gold_sha256 = serializers.SerializerMethodField(help_text="Digest of the gold; empty while held back.")
    gold_commitment = serializers.SerializerMethodField(help_text="SHA-256 of the salt and the digest.")
    gold_salt = serializers.SerializerMethodField(help_text="The salt; empty while the digest is held back.")

    def get_gold_sha256(self, shown: Any) -> str:
        return self.shown_gold(shown).get("gold_sha256", "")

    def get_gold_commitment(self, shown: Any) -> str:
        return self.shown_gold(shown)["gold_commitment"]

    def get_gold_salt(self, shown: Any) -> str:
        return self.shown_gold(shown).get("gold_salt", "")

    @cached_property
    def _secret(self) -> set[str]:
        """Secret golds, read once for a whole list."""
        return gold_digest.secret_golds()

    def shown_gold(self, shown: Setting | SettingVersion | Disclosed) -> dict[str, str]:
        """Return the shown digests of the gold."""
        if isinstance(shown, Setting):
            version = gold_digest.newest(shown)
        elif isinstance(shown, SettingVersion):
            version = shown
        else:
            version = gold_digest.version_of(shown.setting, shown.gold_sha256)
        return gold_digest.of_version(version, self._secret)


class SettingSerializer(WithGold, serializers.ModelSerializer[Setting]):
    test_set = serializers.CharField(source="test_set.slug")
    only = serializers.CharField(source="only.slug", default=None, allow_null=True)
    rows = serializers.SerializerMethodField(
        help_text="Number of items in its test set; with `only`, of those in both sets."
    )
    phase = serializers.CharField(allow_blank=True, help_text="dev or test; empty: every phase.")
    computation = serializers.SerializerMethodField(help_text="How its scores are computed.")
    split = serializers.SerializerMethodField(help_text="Part of a split that it scores; null: no split.")

    class Meta:
        model = Setting
        fields = [
            *(
                "key",
                "title",
                "unit",
                "main",
                "test_set",
                "only",
                "gold_sha256",
                "gold_commitment",
                "gold_salt",
            ),
            *("rows", "version", "phase"),
            *("opens_at", "closes_at", "sealed", "measures", "digits", "lower_is_better"),
            *("disclosure", "class_rows", "ladder", "row_rule", "split", "computation"),
        ]
        read_only_fields = fields

    @extend_schema_field(ComputationSerializer)
    def get_computation(self, setting: Setting) -> dict[str, Any]:
        return of_setting(setting, gold_digest.newest(setting), gold=self.shown_gold(setting))

    @extend_schema_field(SplitSerializer(allow_null=True))
    def get_split(self, setting: Setting) -> dict[str, Any] | None:
        return SplitSerializer(setting).data if setting.share is not None else None

    def get_rows(self, setting: Setting) -> int:
        return inputs.count_items(setting)


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
        help_text="While hidden: step of the Ladder, which shows improvements of the main measure alone.",
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
        help_text="Runs that the row of a system shows: mean, latest, final (chosen by the team, else the "
        "latest), entry (one chosen of all systems of the team; the others have no rank) or best:KEY (by "
        "the main measure of another setting).",
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


class VersionSerializer(WithGold, serializers.ModelSerializer[SettingVersion]):
    test_set = serializers.CharField(source="test_set.slug")
    only = serializers.CharField(source="only.slug", default=None, allow_null=True)

    class Meta:
        model = SettingVersion
        fields = [
            *("number", "test_set", "only", "gold_sha256", "gold_commitment", "gold_salt", "scorer"),
            *("note", "created_at"),
        ]
        read_only_fields = fields


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
    @extend_schema(
        operation_id="setting_inputs",
        responses={(200, "application/x-ndjson"): OpenApiTypes.BINARY} | problems(401, 404, 409),
    )
    def get(self, request: Request, slug: str, key: str) -> StreamingHttpResponse:
        """Download the items to predict, in order and without gold."""
        setting = setting_of(roles.benchmark_for(request.user, slug), key)
        roles.require_begun(setting, request.user)
        return jsonl_file(f"{slug}-{key}.jsonl", inputs.input_lines(setting))
