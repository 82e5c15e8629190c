"""API of a project's log, for curators."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from annotation import roles
from annotation.api.projects import project_of
from annotation.models import Project
from evalsvc.core.accounts.users import person
from evalsvc.core.activity.api import LogEntrySerializer, LogView
from evalsvc.core.errors.handlers import problems


class ProjectLog(LogView):
    def subject(self) -> Project:
        project = project_of(self.request, self.kwargs["slug"])
        roles.require(project, person(self.request), roles.CURATOR)
        return project

    @extend_schema(
        operation_id="project_log",
        responses={200: LogEntrySerializer(many=True)} | problems(400, 401, 403, 404),
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """List the changes to a project, newest first."""
        return super().get(request, *args, **kwargs)
