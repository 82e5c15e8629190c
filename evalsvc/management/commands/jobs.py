"""List, retry or cancel jobs, by number or filter; drain the workers before an upgrade."""

from __future__ import annotations

import time
from typing import Any

from django.conf import settings
from django.core.management import CommandError, CommandParser
from django.db import IntegrityError
from django.db.models import QuerySet

from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.jobs import kinds, queue
from evalsvc.core.jobs.models import Job
from evalsvc.core.web.formatting import counted
from evalsvc.management.commands._plain import PlainCommand

FILTERS = ("state", "kind", "queue", "lane", "code")
FIELDS = {"code": "error_code"}
IN_PROGRESS = (Job.State.QUEUED, Job.State.RUNNING)
CHANGED_IN = {"retry": (Job.State.FAILED,), "cancel": IN_PROGRESS}


class Command(PlainCommand):
    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", choices=("list", "retry", "cancel", "drain", "resume"))
        parser.add_argument("numbers", nargs="*", type=int, metavar="NUMBER")
        for name in FILTERS:
            parser.add_argument(f"--{name}", default="", metavar="VALUE[,VALUE]")
        shown = "drain: shown to those who wait"
        parser.add_argument("--reason", default="The service is being upgraded.", help=shown)
        parser.add_argument(
            "--wait", type=natural, default=0, metavar="SECONDS", help="drain: until no job runs"
        )
        parser.add_argument(
            "--limit", type=natural, default=100, help="list at most as many, the newest first"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        action = options["action"]
        if action == "drain":
            self.drain(options["reason"], seconds=options["wait"])
        elif action == "resume":
            queue.end_drain()
            self.write("Workers start jobs again.")
        elif action == "list":
            for job in chosen(options).order_by("-pk")[: options["limit"]]:
                words = job.error or last_fault(job)
                self.write(f"{job.pk}\t{job.state}\t{job.kind} {job.subject}\t{job.error_code}\t{words}")
        else:
            self.change(action, options)

    def change(self, action: str, options: dict[str, Any]) -> None:
        """Retry or cancel the chosen jobs."""
        jobs = chosen(options)
        if not options["numbers"] and not any(options[name] for name in FILTERS):
            raise CommandError("Specify jobs by number or by a filter such as --code worker_lost.")
        in_time = jobs.filter(state__in=CHANGED_IN[action])
        others = list(jobs.difference(in_time).order_by("pk")) if options["numbers"] else []
        if action == "retry":
            self.retry(in_time)
        else:
            for job in (cancelled := list(in_time)):
                queue.request_cancel(job)
            self.write(f"{counted(len(cancelled), 'job')} cancelled; running ones stop at their next report.")
        if others:
            states = ", ".join(f"{job.pk} is {job.state}" for job in others)
            raise CommandError(f"Cannot {action} jobs in these states: {states}.")

    def drain(self, reason: str, *, seconds: int) -> None:
        """Start no more jobs; wait until none runs, for some seconds."""
        queue.start_drain(reason)
        deadline = time.monotonic() + seconds
        if seconds:
            time.sleep(1)  # a worker may have looked just before
        while running := Job.objects.filter(state=Job.State.RUNNING).count():
            if time.monotonic() > deadline:
                break
            time.sleep(0.5)
        waiting = Job.objects.filter(state=Job.State.QUEUED).count()
        self.write(f"{running:,} running, {waiting:,} waiting. No job is started until you call: jobs resume")
        if running and seconds:
            hint = "You can stop the workers: they hand back what they run."
            raise CommandError(f"Still running after {seconds} s: {counted(running, 'job')}. {hint}")

    def retry(self, jobs: QuerySet[Job]) -> None:
        restarted = 0
        for job in jobs.order_by("pk"):
            try:
                queue.restart(job, by="an administrator")
                restarted += 1
            except (DomainError, IntegrityError) as error:  # its subject has moved on
                self.stderr.write(f"Job {job.pk} was not restarted: {error}")
        self.write(f"{counted(restarted, 'job')} restarted.")


def natural(text: str) -> int:
    """Return a number of 0 or more."""
    if (number := int(text)) < 0:
        raise ValueError
    return number


def last_fault(job: Job) -> str:
    """Return why a job that is in progress was put off last; empty if it never was."""
    put_off = job.events.filter(what="retried") if job.state in IN_PROGRESS else job.events.none()
    event = put_off.order_by("-pk").first()
    return f"retried after attempt {event.attempt}: {event.detail}" if event else ""


def chosen(options: dict[str, Any]) -> QuerySet[Job]:
    """Return the jobs with the numbers and values given; reject unknown values."""
    jobs = Job.objects.all()
    if options["numbers"]:
        jobs = jobs.filter(pk__in=options["numbers"])
        if missing := set(options["numbers"]) - set(jobs.values_list("pk", flat=True)):
            raise CommandError(f"Unknown jobs: {', '.join(map(str, sorted(missing)))}.")
    known = {"state": Job.State.values, "kind": kinds.names(), "queue": settings.JOB_QUEUES}
    for name in FILTERS:
        values = [value for value in options[name].split(",") if value]
        unknown = set(values) - set(known.get(name, values))
        if unknown:
            raise CommandError(
                f"Unknown {name}: {', '.join(sorted(unknown))}. Use: {', '.join(known[name])}."
            )
        if values:
            jobs = jobs.filter(**{f"{FIELDS.get(name, name)}__in": values})
    return jobs
