"""Choose the sentences of a project that people label; the rest stays in the set of source labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management import CommandError, CommandParser

from annotation import candidate_choices, candidates
from evalsvc.management.commands._base import ActingCommand, errors_as_messages, get_project, open_file


class Command(ActingCommand):
    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("project", help="slug of the project")
        parser.add_argument(
            "--order",
            nargs="+",
            choices=list(candidates.CRITERIA),
            required=True,
            help="criteria, the first one has priority",
        )
        parser.add_argument("--top", type=int, default=0, help="how many by their score")
        parser.add_argument("--predictions", metavar="FILE", help="prediction file with scores, for top")
        parser.add_argument("--random", type=int, default=0, help="how many at random")
        parser.add_argument("--seed", default="", help="any text, for random")
        parser.add_argument("--ids", metavar="FILE", help="ids, one per line")
        parser.add_argument("--preview", action="store_true", help="show the numbers, and change nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        with errors_as_messages():
            chosen = self.choose(**options)
        if chosen is None:
            self.write("A worker chooses them; the page of candidates shows the progress.")
            return
        for criterion, n in chosen.by_criterion.items():
            self.write(f"  {n:>9,}  {candidates.CRITERIA[criterion]}")
        self.write(f"  {chosen.kept:>9,}  answered or reserved already")
        self.write(f"  {chosen.rest:>9,}  are not candidates")
        if chosen.unknown_ids:
            self.write(f"  {chosen.unknown_ids:>9,}  ids that the project lacks")

    def choose(self, *, project: str, preview: bool, **options: Any) -> candidates.Chosen | None:
        """Return the effect, made unless it is a preview; None if a worker will know it."""
        scores: dict[str, float] = {}
        if options["predictions"]:
            with open_file(options["predictions"]) as file:
                scores = candidates.read_scores(file)
        wanted = candidates.Wanted(
            order=options["order"],
            top=options["top"],
            scores=scores,
            random=options["random"],
            seed=options["seed"],
            ids=_ids(options["ids"]),
        )
        of, by = get_project(project), self.acting_user(options["by"])
        if candidates.is_chosen_at_once(of):
            return candidates.choose(of, wanted, by=by, preview=preview)
        choice = candidate_choices.request(of, wanted, by=by, at_once=not preview)
        for _ in range(1 if preview else 2):  # it is counted, then applied
            self.run_job(candidate_choices.KIND, choice.pk, queue=options["queue"])
        choice.refresh_from_db()
        return candidates.Chosen(**choice.effect) if choice.effect else None


def _ids(path: str | None) -> list[str]:
    if not path:
        return []
    try:
        return Path(path).read_text(encoding="utf-8").split()
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"Cannot read {path}: {error}.") from error
