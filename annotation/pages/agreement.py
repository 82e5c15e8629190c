"""Agreement page: request, follow, read and download a report."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render

from annotation import roles
from annotation.models import AgreementReport, Project
from annotation.pages.agreement_heatmap import heatmap_of, heatmap_svg
from annotation.pages.agreement_view import ORDERS, AgreementView
from annotation.pages.project_page import job_context, label_titles, project_context, project_for
from annotation.reports import agreement as reports
from annotation.reports import vote_log
from evalsvc.core.accounts.users import person
from evalsvc.core.web.downloads import csv_file, jsonl_file, long_csv_file, svg_file
from evalsvc.core.web.views import page

State = AgreementReport.State
PENDING = (State.WAITING, State.RUNNING)
ENDS = ("value", "low", "high")
COEFFICIENTS = ("observed", "fleiss", "alpha", "alpha_masi", "ac1", "f1", "token_alpha")


@page("GET", "POST", names=())
def agreement(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the page, or for htmx a pending report's state."""
    project, role = project_for(request, slug, *roles.MAY_OVERSEE)
    user = person(request)
    if request.method == "POST":
        reports.request_report(project, by=user)
        return redirect("agreement", slug)
    newest = reports.latest(project, for_user=user)
    pending = newest if newest and newest.state in PENDING else None
    if getattr(request, "htmx", False) and pending:
        context = {"project": project} | job_context("agreement", pending.pk)
        return render(request, "annotation/_agreement_state.html", context)
    report = reports.latest_done(project, for_user=user)
    figures = reports.figures_for(report, user, display=True) if report else None
    order, show_all = request.GET.get("order", ""), "all" in request.GET
    context = project_context(
        project,
        role,
        view=AgreementView(project, figures, order=order, show_all=show_all) if figures else None,
        report=report,
        pending=pending,
        failed=newest if newest and newest.state == State.FAILED else None,
        orders=[(key, title, key == order) for key, title in ORDERS.items()],
        order=order,
        no_answers=not reports.has_answers(project),
        **(job_context("agreement", pending.pk) if pending else {}),
    )
    response = render(request, "annotation/agreement.html", context)
    if getattr(request, "htmx", False):
        response["HX-Refresh"] = "true"
    return response


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
    titles = label_titles(project)
    parts = [(name, titles.get(name, name), row) for name, row in figures["relations"].items()]
    if figures.get("overall"):
        overall = {"answers": figures["answers"]} | figures["overall"]
        parts += [("", "N/A", figures["na"]), ("", "whole answers", overall)]
    if spans := figures.get("spans"):
        parts += [
            (name, titles.get(name, name), {"answers": row["spans"], "f1": row["f1"]})
            for name, row in spans["types"].items()
        ]
        total = sum(row["spans"] for row in spans["types"].values())
        parts.append(("", "all types", {"answers": total} | spans))
    rows = [
        [name, title, row["answers"], key, *(row[key].get(end) for end in ENDS), row[key].get("reason", "")]
        for name, title, row in parts
        for key in COEFFICIENTS
        if key in row
    ]
    heads = ["relation", "title", "answers", "measure", *ENDS, "reason"]
    return csv_file(f"{project.slug}-agreement.csv", heads, rows)


@page()
def judgments(request: HttpRequest, slug: str) -> StreamingHttpResponse:
    """Download the raw answers as an importable file."""
    project, _ = project_for(request, slug, roles.CURATOR)
    return jsonl_file(f"{project.slug}-judgments.jsonl", reports.judgments(project, by=person(request)))


@page()
def votes(request: HttpRequest, slug: str) -> StreamingHttpResponse:
    """Download every answer and skip, under pseudonyms."""
    project, _ = project_for(request, slug, roles.CURATOR)
    return jsonl_file(f"{project.slug}-votes.jsonl", vote_log.lines(project, by=person(request)))


@page()
def votes_csv(request: HttpRequest, slug: str) -> StreamingHttpResponse:
    """Download the same as a table."""
    project, _ = project_for(request, slug, roles.CURATOR)
    rows = vote_log.table(project, by=person(request))
    return long_csv_file(f"{project.slug}-votes.csv", vote_log.COLUMNS, rows)
