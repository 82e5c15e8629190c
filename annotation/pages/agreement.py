"""The agreement page: asked for, followed while it is worked out, read, taken away."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render

from annotation import roles
from annotation.models import AgreementReport, Project
from annotation.pages.agreement_heatmap import heat_of, heat_svg
from annotation.pages.agreement_view import ORDERS, concord, titles
from annotation.pages.view_helpers import around, project_for
from annotation.reports import agreement as agreeing
from evalsvc.core.accounts.users import person
from evalsvc.core.jobs.models import Job
from evalsvc.core.web.downloads import csv_file, jsonl_file, svg_file
from evalsvc.core.web.views import page

State = AgreementReport.State
GOING = (State.WAITING, State.RUNNING)
FIGURES = ("observed", "fleiss", "alpha", "alpha_masi", "ac1")


@page("GET", "POST")
def agreement(request: HttpRequest, slug: str) -> HttpResponse:
    """The whole page, or for htmx the strip that follows the work."""
    project, role = project_for(request, slug, *roles.MAY_OVERSEE)
    if request.method == "POST":
        agreeing.ask(project, by=person(request))
        return redirect("agreement", slug)
    newest = agreeing.latest(project, for_user=person(request))
    going = newest if newest and newest.state in GOING else None
    if getattr(request, "htmx", False) and going:
        return render(request, "annotation/_agreement_state.html", {"project": project} | _work(going))
    response = render(request, "annotation/agreement.html", _shown(request, project, role, newest, going))
    if getattr(request, "htmx", False):
        response["HX-Refresh"] = "true"
    return response


def _shown(
    request: HttpRequest,
    project: Project,
    role: str,
    newest: AgreementReport | None,
    going: AgreementReport | None,
) -> dict[str, object]:
    done = agreeing.latest_done(project, for_user=person(request))
    figures = agreeing.figures_for(done, person(request), shown=True) if done else {}
    order = request.GET.get("order", "")
    told = {
        "told": concord(project, figures, order=order, every="all" in request.GET) if figures else None,
        "report": done,
        "going": going,
        "failed": newest if newest and newest.state == State.FAILED else None,
        "orders": [(key, title, key == order) for key, title in ORDERS.items()],
        "order": order,
        "nobody": not agreeing.standing(project).exists(),
    }
    return around(project, role, **told, **(_work(going) if going else {}))


def _work(report: AgreementReport) -> dict[str, object]:
    job = Job.objects.filter(kind="agreement", subject=report.pk).order_by("-pk").first()
    width = round(600 * min(job.done / job.total, 1), 1) if job and job.total else 0.0
    return {"job": job, "width": width}


def _figures(request: HttpRequest, slug: str, *, shown: bool = False) -> tuple[Project, dict[str, Any]]:
    """The project, and the figures of its newest report that is done."""
    project, _ = project_for(request, slug, *roles.MAY_OVERSEE)
    report = agreeing.latest_done(project, for_user=person(request))
    if report is None:
        raise Http404
    return project, agreeing.figures_for(report, person(request), shown=shown)


@page()
def pairs_svg(request: HttpRequest, slug: str) -> HttpResponse:
    project, told = _figures(request, slug, shown=True)
    drawn = heat_svg(heat_of(told["pairs"], told["annotators"])) if told["pairs"] else ""
    return svg_file(drawn, f"{project.slug}-pairs.svg")


@page()
def pairs_csv(request: HttpRequest, slug: str) -> HttpResponse:
    project, told = _figures(request, slug)
    names = told["annotators"]
    rows = [
        [
            *(names[one["first"]], names[one["second"]], one["common"], one["observed"]),
            *(one["measure"], one["value"], one.get("reason", "")),
        ]
        for one in told["pairs"]
    ]
    heads = ["first", "second", "common", "observed", "measure", "value", "reason"]
    return csv_file(f"{project.slug}-pairs.csv", heads, rows)


@page()
def relations_csv(request: HttpRequest, slug: str) -> HttpResponse:
    project, told = _figures(request, slug)
    heads = ["relation", "title", "answers", "measure", "value", "low", "high", "reason"]
    return csv_file(f"{project.slug}-agreement.csv", heads, _lines(titles(project), told))


def _lines(words: Mapping[str, str], told: Mapping[str, Any]) -> Iterator[list[object]]:
    """Every coefficient of every relation, of N/A and of whole answers, a line each."""
    parts = [(name, words.get(name, name), one) for name, one in told["relations"].items()]
    if told.get("overall"):
        whole = {"answers": told["answers"]} | told["overall"]
        parts += [("", "N/A", told["na"]), ("", "whole answers", whole)]
    for name, title, one in parts:
        for key in FIGURES:
            if key in one:
                figure = one[key]
                ends = [figure.get(end) for end in ("value", "low", "high")]
                yield [name, title, one["answers"], key, *ends, figure.get("reason", "")]


@page()
def judgments(request: HttpRequest, slug: str) -> StreamingHttpResponse:
    """The raw answers as lines that an import of answers takes; for curators."""
    project, _ = project_for(request, slug, roles.CURATOR)
    lines = agreeing.judgments(project, by=person(request))
    return jsonl_file(f"{project.slug}-judgments.jsonl", lines)
