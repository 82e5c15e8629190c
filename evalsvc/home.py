"""Home page, context of every page, and the health check."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render

from evalsvc import home_tasks
from evalsvc.evaluation import roles
from evalsvc.evaluation.pages.board_summary import overviews


def page_context(request: HttpRequest) -> dict[str, Any]:
    """Values that base.html shows on every page."""
    return {"version": settings.VERSION}


def home(request: HttpRequest) -> HttpResponse:
    boards = overviews(roles.visible(request.user).order_by("title"))
    todo = home_tasks.tasks_for(request.user)
    test_sets = home_tasks.test_sets_of(request.user).order_by("-pk")
    is_empty = not (boards or todo or test_sets.exists())
    context = {
        "boards": boards,
        "todo": todo,
        "test_sets": test_sets[:6],
        "steps": home_tasks.first_steps(request.user) if is_empty else None,
        "label_now": home_tasks.next_project(request.user),
        "submit_to": boards[0].benchmark if boards and home_tasks.has_team(request.user) else None,
    }
    return render(request, "home.html", context)


def health(request: HttpRequest) -> JsonResponse:
    """Respond with 200 if the database does."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return JsonResponse({"status": "ok", "version": settings.VERSION})
