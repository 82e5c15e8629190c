"""Agreement page: request, follow, read and download a report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render

from annotation import roles
from annotation.models import AgreementReport, Project
from annotation.pages.agreement_heatmap import heatmap_of, heatmap_svg
from annotation.pages.agreement_view import ORDERS, agreement_view
from annotation.pages.project_page import label_titles, project_context, project_for
from annotation.reports import agreement as reports
from evalsvc.core.accounts.users import person
from evalsvc.core.jobs.models import Job
from evalsvc.core.web.downloads import csv_file, jsonl_file, svg_file
from evalsvc.core.web.views import page

State = AgreementReport.State
PENDING = (State.WAITING, State.RUNNING)
COEFFICIENTS = ("observed", "fleiss", "alpha", "alpha_masi", "ac1")


@page("GET", "POST")
def agreement(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the page, or for htmx a pending report's state."""
    project, role = project_for(request, slug, *roles.MAY_OVERSEE)
    if request.method == "POST":
        reports.request_report(project, by=person(request))
        return redirect("agreement", slug)
    newest = reports.latest(project, for_user=person(request))
    pending = newest if newest and newest.state in PENDING else None
    if getattr(request, "htmx", False) and pending:
        context = {"project": project} | _job_context(pending)
        return render(request, "annotation/_agreement_state.html", context)
    response = render(request, "annotation/agreement.html", _context(request, project, role, newest, pending))
    if getattr(request, "htmx", False):
        response["HX-Refresh"] = "true"
    return response


def _context(
    request: HttpRequest,
    project: Project,
    role: str,
    newest: AgreementReport | None,
    pending: AgreementReport | None,
) -> dict[str, object]:
    report = reports.latest_done(project, for_user=person(request))
    figures = reports.figures_for(report, person(request), display=True) if report else {}
    order = request.GET.get("order", "")
    show_all = "all" in request.GET
    return project_context(
        project,
        role,
        view=agreement_view(project, figures, order=order, show_all=show_all) if figures else None,
        report=report,
        pending=pending,
        failed=newest if newest and newest.state == State.FAILED else None,
        orders=[(key, title, key == order) for key, title in ORDERS.items()],
        order=order,
        no_answers=not reports.included_answers(project).exists(),
        **(_job_context(pending) if pending else {}),
    )


def _job_context(report: AgreementReport) -> dict[str, object]:
    job = Job.objects.filter(kind="agreement", subject=report.pk).order_by("-pk").first()
    width = round(600 * min(job.done / job.total, 1), 1) if job and job.total else 0.0
    return {"job": job, "width": width}


def _figures(request: HttpRequest, slug: str, *, display: bool = False) -> tuple[Project, dict[str, Any]]:
    """Return the project with the figures of its latest finished report."""
    project, _ = project_for(request, slug, *roles.MAY_OVERSEE)
    report = reports.latest_done(project, for_user=person(request))
    if report is None:
        raise Http404
    return project, reports.figures_for(report, person(request), display=display)


@page()
def pairs_svg(request: HttpRequest, slug: str) -> HttpResponse:
    project, figures = _figures(request, slug, display=True)
    pairs = figures["pairs"]
    drawing = heatmap_svg(heatmap_of(pairs, figures["annotators"])) if pairs else ""
    return svg_file(drawing, f"{project.slug}-pairs.svg")


@page()
def pairs_csv(request: HttpRequest, slug: str) -> HttpResponse:
    project, figures = _figures(request, slug)
    names = figures["annotators"]
    rows = [
        [
            *(names[pair["first"]], names[pair["second"]], pair["common"], pair["observed"]),
            *(pair["measure"], pair["value"], pair.get("reason", "")),
        ]
        for pair in figures["pairs"]
    ]
    heads = ["first", "second", "common", "observed", "measure", "value", "reason"]
    return csv_file(f"{project.slug}-pairs.csv", heads, rows)


@page()
def relations_csv(request: HttpRequest, slug: str) -> HttpResponse:
    project, figures = _figures(request, slug)
    heads = ["relation", "title", "answers", "measure", "value", "low", "high", "reason"]
    return csv_file(f"{project.slug}-agreement.csv", heads, _csv_rows(label_titles(project), figures))


def _csv_rows(titles: Mapping[str, str], figures: Mapping[str, Any]) -> Iterator[list[object]]:
    """Yield every coefficient of every relation, of N/A and of whole answers."""
    parts = [(name, titles.get(name, name), row) for name, row in figures["relations"].items()]
    if figures.get("overall"):
        overall = {"answers": figures["answers"]} | figures["overall"]
        parts += [("", "N/A", figures["na"]), ("", "whole answers", overall)]
    for name, title, row in parts:
        for key in COEFFICIENTS:
            if key in row:
                figure = row[key]
                ends = [figure.get(end) for end in ("value", "low", "high")]
                yield [name, title, row["answers"], key, *ends, figure.get("reason", "")]


@page()
def judgments(request: HttpRequest, slug: str) -> StreamingHttpResponse:
    """Download the raw answers as an importable file."""
    project, _ = project_for(request, slug, roles.CURATOR)
    return jsonl_file(f"{project.slug}-judgments.jsonl", reports.judgments(project, by=person(request)))
