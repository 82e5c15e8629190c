"""What a request is about: a project or a test set that its person may see, change or read."""

from __future__ import annotations

from django.http import Http404
from rest_framework.request import Request

from annotation import roles
from annotation.models import Project
from annotation.testset import TestSet
from evalsvc.core.accounts.models import User
from evalsvc.core.accounts.users import person


def project_of(request: Request, slug: str) -> Project:
    """Return a project the user may see, or raise 404."""
    project = roles.visible_project(person(request), slug)
    if project is None:
        raise Http404
    return project


def curated(request: Request, slug: str) -> tuple[Project, User]:
    """Return the project and the user, who must be its curator."""
    project, by = project_of(request, slug), person(request)
    roles.require(project, by, roles.CURATOR)
    return project, by


def visible_test_set(request: Request, slug: str) -> TestSet:
    test_sets = TestSet.objects.visible_to(person(request)).select_related("project")
    test_set = test_sets.filter(slug=slug).first()
    if test_set is None:
        raise Http404
    return test_set


def readable_test_set(request: Request, slug: str) -> tuple[TestSet, User]:
    """Return the test set and the user, who must be allowed to read its gold."""
    test_set, by = visible_test_set(request, slug), person(request)
    test_set.require_reader(by)
    return test_set, by
