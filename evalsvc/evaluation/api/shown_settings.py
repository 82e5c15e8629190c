"""Settings and their versions, as the API shows them."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from evalsvc.evaluation.benchmarks import inputs
from evalsvc.evaluation.benchmarks.stated_computation import stated_computation
from evalsvc.evaluation.disclosure import gold_digest, split
from evalsvc.evaluation.disclosure.disclosed import Disclosed
from evalsvc.evaluation.models import Setting, SettingVersion


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
    scored_items = serializers.IntegerField(
        required=False, help_text="Items that are scored, if these are not all of the gold."
    )
    gold_items = serializers.IntegerField(required=False, help_text="Split: items of both parts.")
    only = serializers.CharField(required=False, help_text="Test set to whose items it is limited.")
    share = serializers.FloatField(required=False, help_text="Split: share that was drawn.")
    rest_of = serializers.CharField(required=False, help_text="Split: the setting with the share.")
    share_seed = serializers.CharField(required=False, help_text="Split: seed, once it has closed.")
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
    def _secret(self) -> gold_digest.SecretGold:
        """Secret gold, read once for a whole list."""
        return gold_digest.SecretGold()

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
            *("key", "title", "unit", "main", "test_set", "only"),
            *("gold_sha256", "gold_commitment", "gold_salt", "rows", "version", "phase"),
            *("opens_at", "closes_at", "sealed", "measures", "digits", "lower_is_better"),
            *("disclosure", "class_rows", "ladder", "row_rule", "split", "computation"),
        ]
        read_only_fields = fields

    @extend_schema_field(ComputationSerializer)
    def get_computation(self, setting: Setting) -> dict[str, Any]:
        return stated_computation(setting, gold_digest.newest(setting), gold=self.shown_gold(setting))

    @extend_schema_field(SplitSerializer(allow_null=True))
    def get_split(self, setting: Setting) -> dict[str, Any] | None:
        return SplitSerializer(setting).data if setting.share is not None else None

    def get_rows(self, setting: Setting) -> int:
        return inputs.count_items(setting)


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
