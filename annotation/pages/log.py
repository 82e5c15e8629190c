"""Log page of a project, for curators."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from annotation import roles
from annotation.pages.project_page import project_context, project_for
from evalsvc.core.activity.log import entries
from evalsvc.core.web.views import page, page_of

PER_PAGE = 50


@page()
def log(request: HttpRequest, slug: str) -> HttpResponse:
    project, role = project_for(request, slug, roles.CURATOR)
    pages = page_of(request, entries(project), size=PER_PAGE)
    return render(request, "annotation/log.html", project_context(project, role, pages=pages))
