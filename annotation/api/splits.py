"""API of what is made of test sets: parts, mapped sets, and data that stand beside them."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation import roles
from annotation.api.lookups import readable_test_set, visible_test_set
from annotation.splits import companions, making, mapping
from annotation.splits.splitting import Unit as SplitUnit
from annotation.testset import Companion
from evalsvc.core.accounts.users import person
from evalsvc.core.errors.handlers import problems
from evalsvc.core.formats.label_list import LONGEST_LABEL
from evalsvc.core.web import places
from evalsvc.core.web.files_parser import FilesParser
from evalsvc.core.web.request_validation import validated
from evalsvc.core.web.tables import records


class SharedThingsSerializer(serializers.Serializer[Any]):
    key = serializers.CharField()
    title = serializers.CharField()
    train = serializers.IntegerField(help_text="Distinct ones in the first part, or the file.")
    test = serializers.IntegerField(help_text="Distinct ones in the second part, or the test set.")
    shared = serializers.IntegerField()
    share_of_test = serializers.FloatField(allow_null=True)
    test_items = serializers.IntegerField(help_text="Items of the test side with a shared one.")


class SetSplitRequestSerializer(serializers.Serializer[Any]):
    parts = serializers.CharField(max_length=300, help_text=f"Names and shares, such as {making.EXAMPLE}.")
    seed = serializers.CharField(max_length=making.LONGEST_SEED, help_text="The same gives the same parts.")
    keep_together = serializers.ChoiceField(
        choices=[str(each) for each in SplitUnit],
        default=str(SplitUnit.NEITHER),
        help_text="What parts never share.",
    )
    stratified = serializers.BooleanField(default=False, help_text="Balance the relations.")
    preview = serializers.BooleanField(default=False, help_text="Store nothing.")


class SetPartSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    slug = serializers.CharField(allow_null=True, help_text="Of the new set; null for a preview.")
    items = serializers.IntegerField(allow_null=True, help_text="null beyond 50,000 lines: not counted.")
    pairs = serializers.IntegerField(allow_null=True)
    facts = serializers.IntegerField(allow_null=True)
    sentences = serializers.IntegerField(allow_null=True)


NOT_COUNTED = dict.fromkeys(("items", "pairs", "facts", "sentences"))


class SharedByPartsSerializer(serializers.Serializer[Any]):
    first = serializers.CharField()
    second = serializers.CharField()
    shared = SharedThingsSerializer(many=True)


class SetSplitSerializer(serializers.Serializer[Any]):
    parts = SetPartSerializer(many=True)
    shared = SharedByPartsSerializer(many=True)
    worst = serializers.FloatField(
        allow_null=True, help_text="Greatest deviation of a relation with 10 items or more."
    )


class Split(APIView):
    @extend_schema(
        operation_id="test_set_split",
        request=SetSplitRequestSerializer,
        responses={200: SetSplitSerializer, 202: SetSplitSerializer} | problems(400, 401, 403, 404, 409, 413),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Split a set into parts, each a test set of its own, or preview that."""
        test_set, user = visible_test_set(request, slug), person(request)
        body = dict(validated(request, SetSplitRequestSerializer))
        only_preview = body.pop("preview")
        plan = making.Plan.of(**body)
        most = making.MOST_LINES_IN_WEB
        counted = only_preview or making.is_counted_in_web(test_set)  # a job splits sets of any length
        found = making.preview(test_set, plan, by=user, most=most) if counted else None
        made = [] if only_preview else making.make(test_set, plan, by=user)
        slugs: list[str | None] = [part.slug for part in made]
        slugs = slugs or [None] * len(plan.shares)
        parts = [
            {"name": name, "slug": of_part} | (found.parts[name] if found else NOT_COUNTED)
            for name, of_part in zip(plan.shares, slugs, strict=True)
        ]
        shared = [{"first": a, "second": b, "shared": rows} for a, b, rows in (found.shared if found else ())]
        answer = SetSplitSerializer(
            {"parts": parts, "shared": shared, "worst": found.worst if found else None}
        )
        return Response(answer.data, status=200 if only_preview else 202)


class CompanionSerializer(serializers.Serializer[Companion]):
    """A set of training or validation data beside a test set."""

    slug = serializers.CharField(source="data.slug")
    title = serializers.CharField(source="data")
    role = serializers.ChoiceField(choices=Companion.Role.choices)
    state = serializers.SerializerMethodField(help_text="Of the count: queued, done or failed.")
    shared = serializers.SerializerMethodField()

    def get_state(self, companion: Companion) -> str:
        return companions.count_state(companion)

    @extend_schema_field(SharedThingsSerializer(many=True, allow_null=True))
    def get_shared(self, companion: Companion) -> Any:
        """Return what both share; null while it is counted, empty while figures of the data are hidden."""
        if companion.data_id in self.context["held_back"]:
            return []
        rows = companions.shared_rows(companion)
        return SharedThingsSerializer(rows, many=True).data if companion.shared is not None else None


class CompanionsSerializer(serializers.Serializer[Any]):
    companions = CompanionSerializer(many=True)
    sets = serializers.ListField(
        child=serializers.DictField(),
        help_text="A row per set: part, set, slug and its statistics, unless its figures are hidden.",
    )


class PutBesideSerializer(serializers.Serializer[Any]):
    set = serializers.CharField(max_length=100, help_text="Slug of a set that you may read.")
    role = serializers.ChoiceField(choices=Companion.Role.choices, required=False)
    remove = serializers.BooleanField(default=False, help_text="Remove it; both sets remain.")
    retry = serializers.BooleanField(default=False, help_text="Count again what they share: a count failed.")


class Companions(APIView):
    @extend_schema(
        operation_id="test_set_companions",
        responses={200: CompanionsSerializer} | problems(401, 403, 404, 409),
    )
    def get(self, request: Request, slug: str) -> Response:
        """Get the training and validation data beside a set, with statistics of all of them."""
        test_set, user = visible_test_set(request, slug), person(request)
        roles.require_outcomes(test_set, user)
        held_back = companions.held_back(test_set, user)
        rows = list(records(companions.sets_table(test_set, without=held_back)))
        shown = {"companions": test_set.companions.select_related("data"), "sets": rows}
        return Response(CompanionsSerializer(shown, context={"held_back": held_back}).data)

    @extend_schema(
        operation_id="test_set_put_beside",
        request=PutBesideSerializer,
        responses={200: CompanionsSerializer} | problems(400, 401, 403, 404, 409),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Put training or validation data beside a set, or take them away."""
        test_set, user = readable_test_set(request, slug)
        body = validated(request, PutBesideSerializer)
        data = visible_test_set(request, body["set"])
        if body["remove"]:
            companions.remove(test_set, data, by=user)
        elif body["retry"]:
            companions.retry(test_set, data, by=user)
        else:
            companions.put_beside(test_set, data, body.get("role", ""), by=user)
        return self.get(request, slug)


class SetMappingRequestSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=120, help_text="Of the new set.")
    version = serializers.CharField(max_length=20)
    names = serializers.DictField(
        child=serializers.CharField(allow_null=True, allow_blank=True, max_length=LONGEST_LABEL),
        default=dict,
        help_text=f"New names by label; null deletes, equal ones merge, such as {mapping.EXAMPLE}.",
    )
    preset = serializers.CharField(
        required=False, default="", max_length=40, help_text="Its merges and deletions, for other labels."
    )
    sets = serializers.ListField(
        child=serializers.CharField(max_length=100),
        default=list,
        max_length=mapping.MOST_SETS,
        help_text="Slugs of imported sets whose lines follow.",
    )
    preview = serializers.BooleanField(default=False, help_text="Store nothing.")


class SetMappingSerializer(serializers.Serializer[Any]):
    slug = serializers.CharField(allow_null=True, help_text="Of the new set; null for a preview.")
    labels = serializers.ListField(child=serializers.CharField(), help_text="The inventory afterwards.")
    items = serializers.IntegerField(allow_null=True, help_text="Lines; null: not counted.")
    emptied = serializers.IntegerField(allow_null=True, help_text="Lines that lose all their labels.")
    before = serializers.DictField(child=serializers.IntegerField(), help_text="Lines or spans by label.")
    after = serializers.DictField(child=serializers.IntegerField())


class Mapping(APIView):
    @extend_schema(
        operation_id="test_set_mapping",
        request=SetMappingRequestSerializer,
        responses={200: SetMappingSerializer, 202: SetMappingSerializer}
        | problems(400, 401, 403, 404, 409, 413),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Make a set of imported gold with other names of its labels, or preview that.

        Lines of other sets may follow. Previews count up to 50,000 lines.
        """
        test_set, user = visible_test_set(request, slug), person(request)
        body = dict(validated(request, SetMappingRequestSerializer))
        test_set.require_reader(user)
        others = [visible_test_set(request, other) for other in body["sets"]]
        chosen = {name: body[name] for name in ("names", "preset")}
        plan = mapping.MappingPlan.of(test_set, others=others, by=user, **chosen)
        shown: dict[str, Any] = {"labels": [label["name"] for label in plan.labels], "slug": None}
        if body["preview"]:
            return Response(
                SetMappingSerializer(shown | vars(mapping.preview(plan, most=making.MOST_LINES_IN_WEB))).data
            )
        made = mapping.make(plan, name=body["name"], version=body["version"], by=user)
        shown |= {"slug": made.slug, "items": None, "emptied": None, "before": {}, "after": {}}
        return Response(SetMappingSerializer(shown).data, status=202)


class LeakageSerializer(serializers.Serializer[Any]):
    shared = SharedThingsSerializer(many=True)


class LeakageRequestSerializer(serializers.Serializer[Any]):
    file = serializers.FileField(help_text="Training data in any format of sentences.")
    format = serializers.CharField(required=False, default="", max_length=40)


class Leakage(APIView):
    parser_classes = [FilesParser]

    @extend_schema(
        operation_id="test_set_leakage",
        request=LeakageRequestSerializer,
        responses={200: LeakageSerializer} | problems(400, 401, 403, 404, 409, 413, 422),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Count what a training file shares with the set."""
        test_set, user = readable_test_set(request, slug)
        body = validated(request, LeakageRequestSerializer)
        chosen = {"format": body["format"], "most": making.MOST_LINES_IN_WEB}
        with places.files.taken(user.pk):
            rows = making.leakage_of(test_set, body["file"], by=user, **chosen)
        return Response(LeakageSerializer({"shared": rows}).data)
