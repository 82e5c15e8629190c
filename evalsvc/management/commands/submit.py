"""Submit a prediction file to a benchmark, score it here, and print the figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management import CommandError, CommandParser

from evalsvc.core.accounts.models import Team, User
from evalsvc.evaluation import leaderboard
from evalsvc.evaluation.measures.menu import MENU
from evalsvc.evaluation.models import Benchmark, Evaluation, Submission
from evalsvc.evaluation.submissions import intake
from evalsvc.management.commands._base import Acting, opened, plain

STEP = 1 << 18


class Command(Acting):
    help = __doc__ or ""

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("benchmark", help="slug of the benchmark")
        parser.add_argument("file", help="predictions, plain or as gzip")
        parser.add_argument("--team", required=True, help="slug of the team")
        parser.add_argument("--system", required=True)
        parser.add_argument("--run", default="1")
        parser.add_argument("--aggregate", default="ONE", choices=intake.AGGREGATES)

    def handle(self, *args: Any, **given: Any) -> None:
        benchmark = Benchmark.objects.filter(slug=given["benchmark"]).first()
        team = Team.objects.filter(slug=given["team"]).first()
        if benchmark is None or team is None:
            missing = "benchmark" if benchmark is None else "team"
            raise CommandError(f"There is no {missing} {given[missing]!r}.")
        with plain(), opened(given["file"]) as file:
            received = intake.receive(
                benchmark,
                team=team,
                by=self._submitter(given["by"], team),
                system=given["system"],
                run=given["run"],
                chunks=iter(lambda: file.read(STEP), b""),
                filename=Path(given["file"]).name,
                aggregate=given["aggregate"],
            )
        self._tell(received.submission, created=received.created, queue=given["queue"])

    def _submitter(self, name: str, team: Team) -> User:
        """Who submits: the one named, else the team's first member."""
        member = team.members.select_related("user").order_by("pk").first()
        return member.user if member and not name else self.person(name)

    def _tell(self, submission: Submission, *, created: bool, queue: bool) -> None:
        counts = ", ".join(f"{n:,} {name}" for name, n in submission.counts.items())
        self.say(f"submission {submission.pk}{'' if created else ' (here already)'}: {counts}")
        if submission.state == Submission.State.QUEUED:
            self.do("score", submission.pk, queue=queue)
            submission.refresh_from_db()
        self.say(f"{submission.state} {submission.reason}".strip())
        for evaluation in leaderboard.newest(submission):
            self._figures(evaluation)

    def _figures(self, evaluation: Evaluation) -> None:
        self.say(f"{evaluation.setting.title}:")
        scores = {score.measure: score for score in evaluation.scores.all()}
        for key in (key for key in MENU if key in scores):
            value, measure = scores[key].value, MENU[key]
            if value is None:
                shown = f"– ({scores[key].reason})"
            else:
                shown = f"{100 * value:.2f}" if measure.unit == "%" else f"{value:.{measure.digits}f}"
            self.say(f"  {key:<32} {shown}")
