"""How benchmarks, their settings, boards and limits look in JSON. Gold is in none of them."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from evalsvc.evaluation import leaderboard
from evalsvc.evaluation.benchmarks import file_contract, quotas
from evalsvc.evaluation.measures.menu import FAMILIES, MENU
from evalsvc.evaluation.models import Benchmark, Setting, SettingVersion


class LabelSerializer(serializers.Serializer[dict[str, str]]):
    name = serializers.CharField()
    title = serializers.CharField(required=False)


class SettingSerializer(serializers.ModelSerializer[Setting]):
    test_set = serializers.CharField(source="test_set.slug")
    only = serializers.CharField(source="only.slug", default=None, allow_null=True)
    gold_sha256 = serializers.CharField(source="test_set.sha256")
    rows = serializers.SerializerMethodField(
        help_text="Rows it scores: of its test set, or those in `only` too."
    )
    phase = serializers.CharField(allow_blank=True, help_text="dev or test; empty: in every phase.")

    class Meta:
        model = Setting
        fields = [
            *("key", "title", "unit", "main", "test_set", "only", "gold_sha256", "rows", "version", "phase"),
            *("opens_at", "closes_at", "sealed", "measures", "digits", "lower_is_better"),
        ]
        read_only_fields = fields

    def get_rows(self, setting: Setting) -> int:
        return file_contract.count_items(setting)


class ShownSerializer(serializers.Serializer[Any]):
    """When a setting is open, and what it shows."""

    phase = serializers.ChoiceField(choices=Setting.Phase.choices, required=False, allow_blank=True)
    opens_at = serializers.DateTimeField(required=False, allow_null=True)
    closes_at = serializers.DateTimeField(required=False, allow_null=True)
    sealed = serializers.BooleanField(
        required=False, help_text="Scores are shown only once the setting has closed."
    )
    measures = serializers.ListField(
        child=serializers.CharField(max_length=60),
        required=False,
        max_length=200,
        help_text="Keys of the measures it shows; empty: all.",
    )
    digits = serializers.IntegerField(required=False, allow_null=True, min_value=0, max_value=6)
    lower_is_better = serializers.BooleanField(
        required=False, allow_null=True, help_text="Turns the main measure; null: as the menu says."
    )


class ChangeSettingSerializer(ShownSerializer):
    title = serializers.CharField(max_length=80, required=False)
    main = serializers.CharField(max_length=60, required=False, help_text="Key of the main measure.")


class NewVersionSerializer(serializers.Serializer[Any]):
    test_set = serializers.SlugField(help_text="Slug of a frozen test set.")
    only = serializers.SlugField(required=False)
    note = serializers.CharField(max_length=200, required=False, help_text="Why.")


class VersionSerializer(serializers.ModelSerializer[SettingVersion]):
    test_set = serializers.CharField(source="test_set.slug")
    only = serializers.CharField(source="only.slug", default=None, allow_null=True)

    class Meta:
        model = SettingVersion
        fields = ["number", "test_set", "only", "gold_sha256", "scorer", "note", "created_at"]
        read_only_fields = fields


class NewSettingSerializer(ShownSerializer):
    key = serializers.SlugField(max_length=40)
    title = serializers.CharField(max_length=80)
    test_set = serializers.SlugField(help_text="Slug of a frozen test set.")
    unit = serializers.ChoiceField(choices=Setting.Unit.choices)
    main = serializers.CharField(help_text="Key of the main measure.")
    only = serializers.SlugField(
        required=False, help_text="Slug of a test set: keep the rows whose ids stand there too."
    )


class BenchmarkSerializer(serializers.ModelSerializer[Benchmark]):
    labels = LabelSerializer(many=True)
    settings = SettingSerializer(many=True, read_only=True)

    class Meta:
        model = Benchmark
        fields = [
            "slug",
            "title",
            "summary",
            "description",
            "task",
            "labels",
            "negative",
            "missing",
            "options",
            "public",
            *("per_day", "in_total", "at_once", "time_zone", "limits", "training_counts"),
            "settings",
        ]
        read_only_fields = fields


class RulesSerializer(serializers.Serializer[Any]):
    """What may change at any time, because no score depends on it."""

    per_day = serializers.IntegerField(
        required=False, allow_null=True, min_value=1, max_value=2**31 - 1, help_text="Submissions of a team."
    )
    in_total = serializers.IntegerField(required=False, allow_null=True, min_value=1, max_value=2**31 - 1)
    at_once = serializers.IntegerField(required=False, allow_null=True, min_value=1, max_value=2**31 - 1)
    time_zone = serializers.CharField(
        required=False, max_length=60, help_text="Where its days begin, such as Europe/Vienna."
    )
    limits = serializers.DictField(
        child=serializers.IntegerField(min_value=1, max_value=2**31 - 1),
        required=False,
        help_text="upload_bytes, lines: below those of the service.",
    )
    training_counts = serializers.DictField(
        child=serializers.IntegerField(min_value=0, max_value=2**31 - 1),
        required=False,
        help_text="Examples per label in the training data.",
    )


class ChangeBenchmarkSerializer(RulesSerializer):
    title = serializers.CharField(max_length=120, required=False)
    summary = serializers.CharField(max_length=200, required=False, allow_blank=True)
    description = serializers.CharField(required=False, allow_blank=True)
    public = serializers.BooleanField(required=False)


class NewBenchmarkSerializer(RulesSerializer):
    slug = serializers.SlugField(max_length=60)
    title = serializers.CharField(max_length=120)
    task = serializers.ChoiceField(choices=Benchmark.Task.choices)
    labels = LabelSerializer(many=True)
    negative = serializers.CharField(max_length=60, required=False, allow_blank=True, default="")
    missing = serializers.ChoiceField(choices=Benchmark.Missing.choices, default=Benchmark.Missing.REFUSE)
    options = serializers.DictField(required=False, default=dict)
    summary = serializers.CharField(max_length=200, required=False, allow_blank=True, default="")
    description = serializers.CharField(required=False, allow_blank=True, default="")
    public = serializers.BooleanField(default=True)


class FigureSerializer(serializers.Serializer[leaderboard.Figure]):
    mean = serializers.FloatField(allow_null=True)
    sd = serializers.FloatField(allow_null=True, help_text="Sample deviation (n − 1); null for one run.")
    n = serializers.IntegerField()
    minimum = serializers.FloatField(allow_null=True)
    maximum = serializers.FloatField(allow_null=True)
    reason = serializers.CharField(allow_blank=True)


class RowSerializer(serializers.Serializer[leaderboard.Row]):
    rank = serializers.IntegerField(allow_null=True)
    system = serializers.CharField(source="system.name")
    team = serializers.CharField(source="team.name")
    tags = serializers.DictField(source="system.tags")
    n = serializers.IntegerField(help_text="Runs.")
    files = serializers.SerializerMethodField(
        help_text="Files among the runs: fewer where some are the same bytes."
    )
    saw_gold = serializers.BooleanField(help_text="Someone of the team labelled or decided this gold.")
    figures = serializers.DictField(child=FigureSerializer())

    def get_files(self, row: leaderboard.Row) -> int:
        return len(row.files)


class BoardSerializer(serializers.Serializer[leaderboard.Board]):
    setting = SettingSerializer()
    version = serializers.IntegerField(help_text="Version of the setting that these scores belong to.")
    sealed = serializers.BooleanField(help_text="Its scores are not shown yet.")
    order_by = serializers.CharField()
    measures = serializers.ListField(child=serializers.CharField())
    rows = RowSerializer(many=True)


class MeasureSerializer(serializers.Serializer[Any]):
    key = serializers.CharField()
    title = serializers.CharField()
    family = serializers.ChoiceField(choices=sorted({measure.family for measure in MENU.values()}))
    units = serializers.SerializerMethodField()
    higher_is_better = serializers.BooleanField()
    digits = serializers.IntegerField()
    unit = serializers.CharField(allow_blank=True)
    explains = serializers.CharField()
    formula = serializers.CharField()
    source = serializers.CharField()  # type: ignore[assignment]
    undefined = serializers.CharField()

    def get_units(self, measure: Any) -> list[str]:
        return list(FAMILIES[measure.family].units)


class ModelLimitsSerializer(serializers.Serializer[Any]):
    on = serializers.BooleanField(help_text="Whether models can be sent.")
    why_off = serializers.CharField(allow_blank=True)
    bytes = serializers.IntegerField(help_text="Of the tar, and of what it holds.")
    files = serializers.IntegerField(help_text="Entries of the tar.")
    seconds = serializers.IntegerField(help_text="From start to last prediction.")
    memory_bytes = serializers.IntegerField()
    result_bytes = serializers.IntegerField(help_text="Of the predictions.")
    factories = serializers.ListField(child=serializers.CharField(), help_text="What components may be.")


class LimitsSerializer(serializers.Serializer[Any]):
    upload_bytes = serializers.IntegerField(help_text="Of what is sent, packed or not.")
    unpacked_bytes = serializers.IntegerField()
    lines = serializers.IntegerField()
    line_bytes = serializers.IntegerField()
    import_lines = serializers.IntegerField(help_text="Of a file of sentences, answers, predictions or gold.")
    wait_seconds = serializers.IntegerField(help_text="The longest that ?wait= may ask for.")
    models = ModelLimitsSerializer()


class AllowanceSerializer(serializers.Serializer[quotas.Allowance]):
    name = serializers.ChoiceField(choices=["per_day", "in_total", "at_once"])
    most = serializers.IntegerField(allow_null=True, help_text="null: no quota.")
    used = serializers.IntegerField()
    left = serializers.IntegerField(allow_null=True)
    next_at = serializers.DateTimeField(allow_null=True, help_text="When a spent quota is renewed.")


class BenchmarkLimitsSerializer(LimitsSerializer):
    time_zone = serializers.CharField()
    team = serializers.CharField()
    quotas = AllowanceSerializer(many=True)
    formats = serializers.ListField(child=serializers.CharField())
    open_settings = serializers.ListField(child=serializers.CharField())
    open_phases = serializers.ListField(child=serializers.CharField())
