"""What new gold of a setting would change for its runs, before it is begun."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Q

from evalsvc.core.accounts.models import User
from evalsvc.core.web.formatting import counted
from evalsvc.evaluation.benchmarks import creation, versions
from evalsvc.evaluation.models import Setting, Submission


@dataclass(frozen=True, slots=True)
class RevisionEffect:
    """Runs that are scored again, and runs of the board that are not."""

    scored_again: int
    left_out: int

    def __str__(self) -> str:
        again = f"{counted(self.scored_again, 'run is', 'runs are')} scored again; until then boards stay."
        left = f" {counted(self.left_out, 'run')} of the board will not be on the new one:"
        return again + f"{left} the files do not cover this gold." * bool(self.left_out)


def of_revision(setting: Setting, *, by: User, **values: Any) -> RevisionEffect:
    """Begin the version, roll it back, and count the runs that it would queue.

    They are counted after the transaction, in which others wait on SQLite.
    """
    runs = setting.benchmark.submissions.filter(withdrawn_at=None, state=Submission.State.SCORED)
    on_board = [each.run.pk for each in versions.shown(setting).runs if each.run.active]
    scored = set(runs.filter(pk__in=on_board).values_list("pk", flat=True))
    with transaction.atomic():
        creation.revise_setting(setting, by=by, scores=False, **values)
        related = Setting.objects.select_related("benchmark", "test_set", "only")
        revised = list(related.filter(Q(pk=setting.pk) | Q(rest_of=setting)))
        transaction.set_rollback(True)
    again = {run.pk for each in revised for run in versions.accepted(each)}
    return RevisionEffect(len(again), len(scored - again))
