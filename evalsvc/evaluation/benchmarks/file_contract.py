"""What a file is held against: a benchmark, and those of its settings that would score the file."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from django.db.models import Q
from django.utils import timezone

from evalsvc.evaluation.benchmarks import expected_ids, phases
from evalsvc.evaluation.models import Benchmark, Setting, SettingVersion, Submission


@dataclass(frozen=True)
class Terms:
    benchmark: Benchmark
    settings: list[Setting]
    phase: str = ""

    @cached_property
    def roster(self) -> expected_ids.Roster:
        return expected_ids.of_settings(self.settings)

    def versions(self) -> list[int]:
        """What to remember of them: the version of each setting, in their order."""
        named = Q()
        for setting in self.settings:
            named |= Q(setting=setting.pk, number=setting.version)
        found = SettingVersion.objects.filter(named) if named else SettingVersion.objects.none()
        of_setting = dict(found.values_list("setting_id", "pk"))
        return [of_setting[setting.pk] for setting in self.settings if setting.pk in of_setting]

    def cover(self, setting: Setting, form: str) -> bool:
        """Whether a file of this form was asked for everything that a setting scores."""
        gold = (setting.test_set_id, setting.only_id)
        if any((own.test_set_id, own.only_id) == gold for own in self.settings):
            return True
        by_document = setting.unit == Setting.Unit.DOCUMENT
        asked = expected_ids.of_setting(setting, with_text=by_document)
        if form == "bag":
            return set(asked.pairs) <= set(self.roster.pairs)
        if not asked.ids.keys() <= self.roster.ids.keys():
            return False
        own = self.roster.lengths
        return not by_document or all(own.get(name) == asked.lengths.get(name) for name in asked.ids)


def now(benchmark: Benchmark, *, phase: str = "", at: datetime | None = None) -> Terms:
    """The terms of a submission made now; refused when nothing is open."""
    at = at or timezone.now()
    named = phases.chosen(benchmark, phase, at=at)
    return Terms(benchmark, phases.scored(benchmark, named, at), named)


def of_submission(submission: Submission) -> Terms:
    """What its file was checked against, as that was then: what the settings score by may be other by now."""
    if not submission.held_to:
        return present(submission)
    related = ("setting__benchmark", "test_set", "only")
    found = SettingVersion.objects.select_related(*related).in_bulk(submission.held_to)
    settings = [as_of(found[pk]) for pk in submission.held_to if pk in found]
    return Terms(submission.benchmark, settings, submission.phase)


def as_of(version: SettingVersion) -> Setting:
    """A setting as it was under one of its versions."""
    setting = version.setting
    setting.test_set, setting.only, setting.version = version.test_set, version.only, version.number
    return setting


def present(submission: Submission) -> Terms:
    """What a file of this submission would be held against now; a model is run over this."""
    return Terms(submission.benchmark, phases.of_submission(submission), submission.phase)
