"""Submit a prediction file, score it and print the scores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management import CommandError, CommandParser

from evalsvc.core.accounts.models import Team
from evalsvc.core.formats.negative_class import NA_PLACES
from evalsvc.core.formats.npy import ColumnNames
from evalsvc.core.formats.old_labels import mapped_in_words
from evalsvc.evaluation import shown_scores
from evalsvc.evaluation.disclosure import gold_digest
from evalsvc.evaluation.measures.computation import in_words
from evalsvc.evaluation.measures.menu import as_shown, scored_of
from evalsvc.evaluation.models import Benchmark, Setting, Submission
from evalsvc.evaluation.submissions import intake
from evalsvc.evaluation.submissions.entry import AGGREGATES
from evalsvc.evaluation.submissions.request_body import tags_of
from evalsvc.management.commands._base import ActingCommand, errors_as_messages, open_file

CHUNK_BYTES = 1 << 18


class Command(ActingCommand):
    help = __doc__ or ""

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("benchmark", help="slug of the benchmark")
        parser.add_argument("file", help="prediction file, plain or gzip")
        parser.add_argument("--team", required=True, help="slug of the team")
        parser.add_argument("--system", required=True)
        parser.add_argument("--run", default="1")
        parser.add_argument("--phase", default="", choices=Setting.Phase.values)
        parser.add_argument("--tags", default="", help="declarations, as a JSON object")
        parser.add_argument("--aggregate", default="ONE", choices=AGGREGATES)
        parser.add_argument("--na", default="", choices=NA_PLACES, help="N/A column of a .npy file")
        parser.add_argument("--columns", default="", help="labels of the columns of a .npy file, as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        benchmark = Benchmark.objects.filter(slug=options["benchmark"]).first()
        team = Team.objects.filter(slug=options["team"]).first()
        if benchmark is None or team is None:
            missing = "benchmark" if benchmark is None else "team"
            raise CommandError(f"There is no {missing} {options[missing]!r}.")
        with errors_as_messages(), open_file(options["file"]) as file:
            first = team.members.filter(user__is_active=True).select_related("user").order_by("pk").first()
            received = intake.receive(
                benchmark,
                team=team,
                by=first.user if first and not options["by"] else self.acting_user(options["by"]),
                system=options["system"],
                run=options["run"],
                chunks=iter(lambda: file.read(CHUNK_BYTES), b""),
                filename=Path(options["file"]).name,
                phase=options["phase"],
                tags=tags_of(options),
                aggregate=options["aggregate"],
                names=ColumnNames(options["columns"], options["na"]),
            )
        self._write_result(received.submission, created=received.created, queue=options["queue"])

    def _write_result(self, submission: Submission, *, created: bool, queue: bool) -> None:
        counts = ", ".join(f"{n:,} {name}" for name, n in submission.counts.items())
        self.write(f"submission {submission.pk}{'' if created else ' (already submitted)'}: {counts}")
        if mapped := mapped_in_words(submission.old_labels, negative=submission.benchmark.negative):
            self.write(f"{mapped}.")
        if submission.state == Submission.State.QUEUED:
            self.run_job("score", submission.pk, queue=queue)
            submission.refresh_from_db()
        self.write(f"{submission.state} {submission.reason}".strip())
        for evaluation in shown_scores.newest(submission):
            version = gold_digest.version_of(evaluation.setting, evaluation.gold_sha256)
            computed = shown_scores.computation_of(evaluation, gold=gold_digest.of_version(version))
            self.write(f"{evaluation.setting.title}:")
            for title, choice in in_words(computed):
                self.write(f"  {title:<44} {choice}")
            scores = {score.measure: score for score in evaluation.scores}
            for key in (key for key in scored_of(evaluation.setting) if key in scores):
                value, measure = scores[key].value, as_shown(evaluation.setting, key)
                if value is None:
                    shown = f"– ({scores[key].reason})"
                else:
                    shown = f"{100 * value:.2f}" if measure.unit == "%" else f"{value:.{measure.digits}f}"
                self.write(f"  {measure.title:<44} {shown:>8}  {key}")
