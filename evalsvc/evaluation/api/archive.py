"""All runs of a benchmark as one zip: files, scores, options and digests, the same bytes each time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import chain, islice
from typing import Any, BinaryIO

from django.db.models import QuerySet
from django.http import StreamingHttpResponse

from evalsvc.core.accounts.models import User
from evalsvc.core.jobs.exceptions import RetryLater
from evalsvc.core.web.downloads import STORED_NOWHERE
from evalsvc.core.web.zip_stream import with_sums, zip_stream
from evalsvc.evaluation import shown_scores
from evalsvc.evaluation.api.scores import EvaluationSerializer
from evalsvc.evaluation.benchmarks import final_entries
from evalsvc.evaluation.dates import zone_key
from evalsvc.evaluation.disclosure import gold_digest
from evalsvc.evaluation.models import Benchmark, PredictionFile, Submission
from evalsvc.evaluation.submissions.file_store import open_file

BLOCK, BATCH = 1 << 16, 50


def archive_file(benchmark: Benchmark, *, person: User) -> StreamingHttpResponse:
    """Return the archive as a download; the caller has made sure that the person organises it."""
    name = f"{benchmark.slug}-archive"
    return StreamingHttpResponse(
        zip_stream(with_sums(_entries(benchmark, person)), folder=name),
        content_type="application/zip",
        headers={"Content-Disposition": f'attachment; filename="{name}.zip"'} | STORED_NOWHERE,
    )


def _entries(benchmark: Benchmark, person: User) -> Iterator[tuple[str, Iterable[bytes]]]:
    yield "benchmark.json", [_json(_benchmark(benchmark), indent=2)]
    yield "entrants.jsonl", map(_line, _entrants(benchmark))
    runs = Submission.objects.filter(benchmark=benchmark).select_related("system__team", "by").order_by("pk")
    final = final_entries.final_phases([benchmark.pk])
    yield "runs.jsonl", (_line(_run(each, final)) for each in runs.iterator(chunk_size=500))
    yield "scores.jsonl", map(_line, _scores(runs, person))
    files = PredictionFile.objects.filter(submissions__benchmark=benchmark)
    models = PredictionFile.objects.filter(runs_of_model__benchmark=benchmark)
    lost = []
    for file in files.union(models).order_by("sha256"):
        try:
            content = open_file(file)
        except RetryLater as error:
            lost.append({"file": file.sha256, "reason": str(error)})
            continue
        yield f"files/{file.sha256}", _blocks(content)
    if lost:
        yield "lost.jsonl", map(_line, lost)


def _blocks(content: BinaryIO) -> Iterator[bytes]:
    with content:
        while block := content.read(BLOCK):
            yield block


def _text(value: object) -> str:
    """Write a moment as the API does, anything else as text."""
    return value.isoformat().replace("+00:00", "Z") if isinstance(value, datetime) else str(value)


def _json(value: Any, **more: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=_text, **more).encode()


def _line(value: Any) -> bytes:
    return _json(value) + b"\n"


def _benchmark(benchmark: Benchmark) -> dict[str, Any]:
    fields = (
        *("slug", "title", "summary", "description", "task", "labels", "negative", "missing", "options"),
        *("per_day", "in_total", "at_once", "default_quotas", "phase_quotas"),
        *("time_zone", "approval", "contributed"),
    )
    shown = (
        "key",
        "title",
        "unit",
        "main",
        "phase",
        "opens_at",
        "closes_at",
        "sealed",
        "disclosure",
        "row_rule",
    )
    secret = gold_digest.SecretGold()
    settings = [
        {name: getattr(setting, name) for name in shown}
        | {
            "versions": [
                {
                    "number": each.number,
                    "scorer": each.scorer,
                    "note": each.note,
                    **gold_digest.of_version(each, secret),
                }
                for each in setting.versions.all()
            ]
        }
        for setting in benchmark.settings.prefetch_related("versions")
    ]
    terms = [
        {"number": each.number, "text": each.text, "at": each.created_at} for each in benchmark.terms.all()
    ]
    announcements = [
        {"title": each.title, "text": each.text, "at": each.created_at}
        for each in benchmark.announcements.order_by("pk")
    ]
    return {name: getattr(benchmark, name) for name in fields} | {
        "time_zone": zone_key(benchmark),
        "settings": settings,
        "terms": terms,
        "announcements": announcements,
    }


def _entrants(benchmark: Benchmark) -> Iterator[dict[str, Any]]:
    final = final_entries.of_teams(benchmark)
    for each in benchmark.entrants.select_related("team", "terms", "by"):
        yield {
            "team": each.team.slug,
            "state": each.state,
            "reason": each.reason,
            "terms": each.terms.number if each.terms else None,
            "accepted_at": each.accepted_at,
            "accepted_by": each.by.username if each.terms else None,
            "decided_at": each.decided_at,
            "finals": final.get(each.team_id, []),
        }


def _run(run: Submission, final: Mapping[int, list[str]]) -> dict[str, Any]:
    fields = (
        *("id", "run", "phase", "state", "reason_code", "reason", "filename", "format", "form"),
        *("aggregate", "layout", "columns", "counts", "old_labels", "saw_gold"),
        *("created_at", "scored_at", "ended_at", "withdrawn_at"),
    )
    return {name: getattr(run, name) for name in fields} | {
        "team": run.system.team.slug,
        "system": run.system.name,
        "declared": run.declared,
        "final_at": run.final_at if run.pk in final else None,
        "final_in": final.get(run.pk, []),
        "by": run.by.username,
        "file": run.file_id,
        "model": run.model_id,
    }


def _scores(runs: QuerySet[Submission], person: User) -> Iterator[dict[str, Any]]:
    each = runs.iterator(chunk_size=BATCH)
    while batch := list(islice(each, BATCH)):
        shown = shown_scores.shown_of(batch, person)
        keys = [run.pk for run, of_run in zip(batch, shown, strict=True) for _ in of_run]
        written = EvaluationSerializer([*chain.from_iterable(shown)], many=True).data
        for pk, evaluation in zip(keys, written, strict=True):
            yield {"id": pk, **{name: value for name, value in evaluation.items() if name != "computed"}}
