"""The shapes of the annotation API. What an annotator is handed holds no label, vote, name or gold."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from annotation.adjudication.decisions import FINDINGS
from annotation.adjudication.unanswerable_items import FOR_GOOD
from annotation.models import Batch, Item, Policy, Project
from annotation.queue.votes import REASONS
from annotation.testset import Kind, TestSet


class ProjectSerializer(serializers.ModelSerializer[Project]):
    state = serializers.CharField(read_only=True, help_text="setup, open or closed")

    class Meta:
        model = Project
        fields = ["slug", "title", "kind", "state", "k", "policy", "guideline", "na_means", "created_at"]
        read_only_fields = fields


class NewProjectSerializer(serializers.Serializer[Any]):
    title = serializers.CharField(max_length=120)
    slug = serializers.SlugField(max_length=60, required=False)
    kind = serializers.ChoiceField(choices=Kind.choices)
    k = serializers.IntegerField(default=4, min_value=1, max_value=50)
    policy = serializers.ChoiceField(choices=Policy.choices, required=False)
    guideline = serializers.CharField(required=False, allow_blank=True)


class ChoiceSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    title = serializers.CharField()
    phrase = serializers.CharField()
    group = serializers.CharField()
    definition = serializers.CharField()
    choose = serializers.ListField(child=serializers.CharField())
    avoid = serializers.ListField(child=serializers.CharField())
    head_type = serializers.CharField()
    tail_type = serializers.CharField()
    key = serializers.CharField()


class ProjectDetailSerializer(ProjectSerializer):
    role = serializers.CharField()
    labels = ChoiceSerializer(many=True)
    progress = serializers.DictField(help_text="Your own.")
    states = serializers.DictField(
        child=serializers.IntegerField(), required=False, help_text="Items by state; not for annotators."
    )

    class Meta(ProjectSerializer.Meta):
        fields = [*ProjectSerializer.Meta.fields, "role", "labels", "progress", "states"]
        read_only_fields = fields


class BatchSerializer(serializers.ModelSerializer[Batch]):
    state = serializers.CharField(
        read_only=True, help_text="received, running, done, refused, failed or cancelled"
    )
    project = serializers.CharField(source="project.slug", read_only=True, default=None, allow_null=True)
    test_set = serializers.SerializerMethodField()

    class Meta:
        model = Batch
        fields = [
            "id",
            "project",
            "what",
            "format",
            "options",
            "filename",
            "sha256",
            "size",
            "state",
            "counts",
            "refused",
            "problems",
            "reason",
            "test_set",
            "created_at",
            "ended_at",
        ]
        read_only_fields = fields

    def get_test_set(self, batch: Batch) -> str | None:
        """The slug of the test set a published gold becomes."""
        test_set = getattr(batch, "test_set", None)
        return test_set.slug if test_set else None


class OptionsField(serializers.JSONField):
    """An object, also where a form sends it as text."""

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        value = super().to_internal_value(data)
        if not isinstance(value, dict):
            raise serializers.ValidationError('An object is expected, such as {"on_error": "refuse-file"}.')
        return value


class NewImportSerializer(serializers.Serializer[Any]):
    file = serializers.FileField()
    what = serializers.ChoiceField(
        choices=[Batch.What.ITEMS, Batch.What.VOTES, Batch.What.SUGGESTIONS], default=Batch.What.ITEMS
    )
    format = serializers.CharField(required=False, allow_blank=True, help_text="Told by content when absent.")
    options = OptionsField(required=False)


class NewGoldSerializer(serializers.Serializer[Any]):
    file = serializers.FileField()
    name = serializers.CharField(max_length=120)
    version = serializers.CharField(max_length=20)
    kind = serializers.ChoiceField(choices=Kind.choices, default=Kind.RELATIONS)
    format = serializers.CharField(required=False, allow_blank=True, help_text="Told by content when absent.")
    options = OptionsField(required=False, help_text="labels, negative, scheme, repair, column")


class MentionSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    start = serializers.IntegerField(help_text="Code points, half-open.")
    end = serializers.IntegerField()
    type = serializers.CharField(required=False, help_text="The kind of entity, where the file tells it.")


class ItemSerializer(serializers.ModelSerializer[Item]):
    """An item as an annotator sees it."""

    id = serializers.UUIDField(
        source="key", help_text="Drawn by lot: it tells nothing of where it came from."
    )
    head = MentionSerializer(allow_null=True)
    tail = MentionSerializer(allow_null=True)
    tokens = serializers.ListField(child=serializers.CharField(), allow_null=True)

    class Meta:
        model = Item
        fields = ["id", "text", "tokens", "head", "tail"]
        read_only_fields = fields


class PayloadSerializer(serializers.Serializer[Any]):
    spans = serializers.ListField(
        child=serializers.JSONField(), default=list, help_text="[start, end, label]"
    )
    relations = serializers.ListField(
        child=serializers.JSONField(), default=list, help_text="Names; in joint projects [span, name, span]."
    )


class HoldingSerializer(serializers.Serializer[Any]):
    holding = serializers.ListField(
        child=serializers.IntegerField(), default=list, help_text="Leases you have on show or in reserve."
    )


class LeaseSerializer(serializers.Serializer[Any]):
    lease = serializers.IntegerField()
    item = ItemSerializer()
    base = serializers.IntegerField(help_text="Number of your own last act on the item; 0 for none.")
    expires_at = serializers.DateTimeField()
    suggestion = PayloadSerializer(
        allow_null=True, help_text="A prediction to start from, in projects that show them; else null."
    )


class WantedSerializer(HoldingSerializer):
    n = serializers.IntegerField(min_value=1, max_value=60, help_text="How many more to hold.")


class ReserveSerializer(serializers.Serializer[Any]):
    leases = LeaseSerializer(many=True)


class HeldSerializer(serializers.Serializer[Any]):
    lease = serializers.IntegerField()
    expires_at = serializers.DateTimeField()


class ActSerializer(serializers.Serializer[Any]):
    client_id = serializers.UUIDField(help_text="Made by you: the same one again writes nothing again.")
    base = serializers.IntegerField(default=0, min_value=0)
    comment = serializers.CharField(required=False, allow_blank=True, default="", max_length=4_000)
    flagged = serializers.BooleanField(default=False)
    milliseconds = serializers.IntegerField(
        required=False, allow_null=True, default=None, min_value=0, max_value=86_400_000
    )


class AnswerSerializer(ActSerializer):
    payload = PayloadSerializer()


class SkipSerializer(ActSerializer):
    reason = serializers.ChoiceField(choices=list(REASONS.items()))


class ToldSerializer(serializers.Serializer[Any]):
    choice = serializers.JSONField()
    chosen = serializers.BooleanField()
    right = serializers.BooleanField()


class FeedbackSerializer(serializers.Serializer[Any]):
    right = serializers.BooleanField()
    choices = ToldSerializer(many=True, help_text="What you chose and what is known, each on its own.")
    explains = serializers.CharField()
    done = serializers.IntegerField()
    of = serializers.IntegerField()
    passed = serializers.BooleanField(allow_null=True, help_text="null while the round goes on.")


class CastSerializer(serializers.Serializer[Any]):
    number = serializers.IntegerField(help_text="Number of this act; send it as base when you act again.")
    surplus = serializers.BooleanField(help_text="Kept and shown, not counted: enough others were first.")
    repeated = serializers.BooleanField(help_text="This client_id was written before; nothing changed.")
    feedback = FeedbackSerializer(allow_null=True, help_text="In the qualification round only; else null.")


class PastSerializer(serializers.Serializer[Any]):
    item = ItemSerializer()
    act = serializers.ChoiceField(choices=["answer", "skip"])
    payload = PayloadSerializer(allow_null=True)
    reason = serializers.CharField()
    comment = serializers.CharField()
    flagged = serializers.BooleanField()
    number = serializers.IntegerField()
    at = serializers.DateTimeField()


class HistorySerializer(serializers.Serializer[Any]):
    results = PastSerializer(many=True)


class CountSerializer(serializers.Serializer[Any]):
    choice = serializers.JSONField()
    votes = serializers.IntegerField()
    accepted = serializers.BooleanField()


class ColumnSerializer(serializers.Serializer[Any]):
    letter = serializers.CharField()
    payload = PayloadSerializer()
    comment = serializers.CharField()
    flagged = serializers.BooleanField()


class VerdictSerializer(serializers.Serializer[Any]):
    state = serializers.CharField()
    gold = PayloadSerializer(allow_null=True)


class PassSerializer(serializers.Serializer[Any]):
    reason = serializers.ChoiceField(choices=FOR_GOOD)
    comment = serializers.CharField()


class DossierSerializer(serializers.Serializer[Any]):
    item = ItemSerializer()
    columns = ColumnSerializer(many=True, help_text="Answers without names, in shuffled order.")
    tally = CountSerializer(many=True)
    na = serializers.IntegerField()
    n = serializers.IntegerField()
    k = serializers.IntegerField()
    by_policy = serializers.DictField(child=VerdictSerializer())
    votes_key = serializers.CharField()
    may_ask_one_more = serializers.BooleanField()
    passes = PassSerializer(many=True, help_text="Why people passed on it, where nobody could decide.")


class DisputeSerializer(serializers.ModelSerializer[Item]):
    id = serializers.UUIDField(source="key")
    pattern = serializers.CharField(
        source="split", read_only=True, help_text="How the votes split, or that nobody could."
    )

    class Meta:
        model = Item
        fields = ["id", "text", "pattern", "votes_key"]
        read_only_fields = fields


class DecisionSerializer(serializers.Serializer[Any]):
    client_id = serializers.UUIDField()
    payload = PayloadSerializer(required=False)
    finding = serializers.ChoiceField(
        choices=["", *FINDINGS],
        default="",
        help_text="Instead of an answer: the sentence is left out of the set.",
    )
    reason = serializers.CharField(required=False, allow_blank=True, default="", max_length=4_000)
    votes_key = serializers.CharField(
        allow_blank=True, help_text="From the dispute: refused when the answers changed since."
    )


class DecidedSerializer(serializers.Serializer[Any]):
    item = serializers.UUIDField()
    state = serializers.CharField()


class NewFreezeSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=120)
    version = serializers.CharField(max_length=20)
    leave_out = serializers.BooleanField(default=False, help_text="Leave open and disputed items out.")


class TestSetSerializer(serializers.ModelSerializer[TestSet]):
    __test__ = False

    state = serializers.CharField(read_only=True, help_text="building, frozen or failed")
    project = serializers.CharField(source="project.slug", read_only=True, default=None, allow_null=True)
    source_twin = serializers.SerializerMethodField()
    statistics = serializers.DictField(
        child=serializers.JSONField(),
        allow_null=True,
        read_only=True,
        help_text="Null until they are counted.",
    )

    class Meta:
        model = TestSet
        fields = [
            "slug",
            "name",
            "version",
            "kind",
            "origin",
            "state",
            "project",
            "source_twin",
            "labels",
            "negative",
            "statistics",
            "rows",
            "sha256",
            "reason",
            "created_at",
            "frozen_at",
        ]
        read_only_fields = fields

    def get_source_twin(self, test_set: TestSet) -> str | None:
        """The set of source labels frozen with an annotated one."""
        twin = getattr(test_set, "source_twin", None)
        return twin.slug if twin else None
