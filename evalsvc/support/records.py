"""Kinds of records: their lists, pages and searched fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib.admin import display, register
from django.contrib.admin.models import LogEntry as Correction
from django.db.models import Model
from django.forms import BaseModelForm, ModelForm
from django.http import HttpRequest

from annotation.models import Batch, Member, Project
from annotation.models.release import Download, Publication
from annotation.testset import TestSet
from evalsvc.core.accounts import users
from evalsvc.core.accounts.forms import visible
from evalsvc.core.accounts.models import ApiToken, Identity, Invitation, Team, TeamMember, User
from evalsvc.core.accounts.users import person
from evalsvc.core.activity.models import LogEntry
from evalsvc.core.jobs.models import Job, JobEvent, Worker
from evalsvc.evaluation.models import (
    Benchmark,
    Entrant,
    ModelHost,
    Organiser,
    Setting,
    Submission,
    System,
)
from evalsvc.support.site import Records, lines_of, site

if TYPE_CHECKING:  # generic for the type checker alone
    PersonModelForm = ModelForm[User]
else:
    PersonModelForm = ModelForm


class CorrectedPerson(PersonModelForm):
    """Name and e-mail address, as the account page takes them."""

    class Meta:
        model = User
        fields = ("first_name", "last_name", "email")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in {"first_name", "last_name"} & self.fields.keys():
            self.fields[name].validators.append(visible)


# ---- accounts -------------------------------------------------------------------------------------
@register(User, site=site)
class People(Records):
    form = CorrectedPerson
    editable = ("first_name", "last_name", "email")
    fields = (
        *("username", *editable, "is_active", "may_organise", "is_staff", "is_superuser"),
        *("date_joined", "last_login"),
    )
    list_display = ("username", "first_name", "last_name", "email", "is_active", "may_organise", "last_login")
    list_filter = ("is_active", "may_organise", "is_staff", "is_superuser")
    search_fields = ("username", "first_name", "last_name", "email")
    ordering = ("username",)

    def save_model(self, request: HttpRequest, obj: Model, form: BaseModelForm[Any], change: bool) -> None:
        super().save_model(request, obj, form, change)
        if "email" in form.changed_data:
            assert isinstance(obj, User)
            users.record_new_email(obj, by=person(request))


@register(Team, site=site)
class Teams(Records):
    fields = ("name", "slug", "created_at")
    list_display = fields
    search_fields = ("name", "slug")
    ordering = ("name",)
    inlines = (lines_of(TeamMember, "team", "user", "role"),)
    page = "team"


@register(ApiToken, site=site)
class Tokens(Records):
    fields = ("user", "team", "name", "scope", "prefix", "created_at", "expires_at", "revoked_at", "used_at")
    list_display = ("prefix", "name", "user", "team", "scope", "expires_at", "revoked_at", "used_at")
    list_filter = ("scope",)
    list_select_related = ("user", "team")
    search_fields = ("prefix", "user__username", "team__name")
    ordering = ("-pk",)


@register(Identity, site=site)
class Identities(Records):
    fields = ("user", "issuer", "subject", "created_at")
    list_display = fields
    list_select_related = ("user",)
    search_fields = ("user__username", "subject")
    ordering = ("-pk",)


@register(Invitation, site=site)
class Invitations(Records):
    fields = (
        *("place", "subject", "role", "note", "by", "created_at", "expires_at"),
        *("revoked_at", "used_at", "used_by"),
    )
    list_display = ("role", "place", "subject", "note", "by", "expires_at", "used_by")
    list_filter = ("place",)
    list_select_related = ("by", "used_by")
    search_fields = ("note", "by__username", "used_by__username")
    ordering = ("-pk",)


# ---- jobs and the log -----------------------------------------------------------------------------
@register(Job, site=site)
class Jobs(Records):
    """Retried and cancelled by `manage.py jobs`, on pages and by API.

    Errors quote what a file has, and steps count the gold questions of a project: both are left out.
    """

    fields = (
        *("kind", "queue", "subject", "lane", "request_id", "state", "attempt", "worker"),
        *("error_code", "created_at", "run_after", "started_at", "ended_at"),
        "lease_until",
    )
    list_display = ("id", "kind", "subject", "state", "attempt", "error_code", "created_at", "ended_at")
    list_filter = ("state", "queue", "kind")
    search_fields = ("=subject", "=request_id", "=error_code", "lane")
    ordering = ("-pk",)
    inlines = (lines_of(JobEvent, "at", "attempt", "what"),)


@register(Worker, site=site)
class Workers(Records):
    fields = ("name", "queue", "heard_at")
    list_display = fields
    list_filter = ("queue",)
    search_fields = ("name",)
    ordering = ("-heard_at",)


@register(ModelHost, site=site)
class ModelHosts(Records):
    fields = ("name", "why_not", "tried_at", "seen_at")
    list_display = fields
    search_fields = ("name",)
    ordering = ("name",)


@register(LogEntry, site=site)
class Log(Records):
    """Log of projects and benchmarks, without the values: they may name labels of single sentences.

    What an entry of a project is about may be a sentence, the person who answered it, or a reason.
    """

    fields = ("area", "subject", "action", "of", "by", "at")
    list_display = ("at", "area", "subject", "action", "of", "by")
    list_filter = ("area",)
    list_select_related = ("by",)
    search_fields = ("=subject", "action", "by__username")
    ordering = ("-pk",)

    @display(description="About")
    def of(self, entry: LogEntry) -> str:
        return "" if entry.area == Project._meta.model_name else entry.about

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Model:
        entry = super().get_object(request, object_id, from_field)
        assert isinstance(entry, LogEntry)
        entry.about = self.of(entry)  # it is in the title of the page
        return entry


@register(Correction, site=site)
class Corrections(Records):
    fields = ("action_time", "user", "content_type", "object_id", "object_repr", "change_message")
    list_display = ("action_time", "user", "object_repr", "get_change_message")
    list_select_related = ("user", "content_type")
    search_fields = ("object_repr", "user__username")
    ordering = ("-pk",)


# ---- annotation -----------------------------------------------------------------------------------
@register(Project, site=site)
class Projects(Records):
    fields = ("slug", "title", "kind", "state", "k", "policy", "created_by", "created_at")
    list_display = fields
    list_filter = ("state", "kind")
    list_select_related = ("created_by",)
    search_fields = ("slug", "title", "created_by__username")
    ordering = ("-pk",)
    inlines = (lines_of(Member, "user", "role"),)
    page = "project"


@register(Batch, site=site)
class Imports(Records):
    """Without names, sizes and rejected lines of files: they tell of texts and of gold questions."""

    fields = ("project", "what", "format", "state", "by", "created_at", "ended_at")
    list_display = ("id", "what", "project", "state", "by", "created_at")
    list_filter = ("state", "what")
    list_select_related = ("project", "by")
    search_fields = ("project__slug", "by__username")
    ordering = ("-pk",)
    page = "import"


@register(TestSet, site=site)
class TestSets(Records):
    """Without numbers of lines: with those of a project's sentences they count its gold questions."""

    fields = (
        *("slug", "name", "version", "kind", "origin", "state", "project", "by", "created_at"),
        *("frozen_at",),
    )
    list_display = ("name", "version", "origin", "state", "by", "created_at")
    list_filter = ("state", "origin", "kind")
    list_select_related = ("by",)
    search_fields = ("slug", "name", "by__username")
    ordering = ("-pk",)
    page = "test-set"


@register(Publication, site=site)
class Publications(Records):
    fields = ("test_set", "access", "with_gold", "by", "at", "withdrawn_at", "withdrawn_by", "reason")
    list_display = ("test_set", "access", "with_gold", "by", "at", "withdrawn_at")
    list_filter = ("access",)
    list_select_related = ("test_set", "by")
    search_fields = ("test_set__name", "by__username")
    ordering = ("-at",)


@register(Download, site=site)
class Downloads(Records):
    fields = ("at", "test_set", "what", "user")
    list_display = fields
    list_select_related = ("test_set", "user")
    search_fields = ("test_set__name", "user__username")
    ordering = ("-pk",)


# ---- evaluation -----------------------------------------------------------------------------------
@register(Benchmark, site=site)
class Benchmarks(Records):
    fields = (
        *("slug", "title", "task", "public", "missing", "per_day", "in_total", "at_once", "time_zone"),
        *("created_by", "created_at"),
    )
    list_display = ("title", "slug", "task", "public", "created_by", "created_at")
    list_filter = ("task", "public")
    list_select_related = ("created_by",)
    search_fields = ("slug", "title", "created_by__username")
    ordering = ("-pk",)
    inlines = (
        lines_of(
            Setting,
            *("key", "title", "test_set", "unit", "phase", "opens_at", "closes_at", "sealed"),
            *("disclosure", "version"),
        ),
        lines_of(Organiser, "user", "role"),
    )
    page = "board"


@register(Entrant, site=site)
class Entrants(Records):
    fields = (
        *("benchmark", "team", "state", "by", "created_at", "accepted_at", "decided_by"),
        *("decided_at", "reason"),
    )
    list_display = ("benchmark", "team", "state", "by", "created_at")
    list_filter = ("state",)
    list_select_related = ("benchmark", "team", "by")
    search_fields = ("benchmark__slug", "team__name")
    ordering = ("-pk",)


@register(System, site=site)
class Systems(Records):
    fields = ("benchmark", "team", "name", "baseline", "created_at")
    list_display = fields
    list_select_related = ("benchmark", "team")
    search_fields = ("name", "team__name", "benchmark__slug")
    ordering = ("-pk",)


@register(Submission, site=site)
class Submissions(Records):
    """Without scores, files and reasons, which quote lines: its page has them for those who may read them."""

    fields = (
        *("benchmark", "system", "run", "filename", "format", "form", "phase", "aggregate", "state"),
        *("reason_code", "job", "by", "created_at", "started_at", "scored_at", "ended_at"),
    )
    list_display = ("id", "benchmark", "system", "run", "state", "reason_code", "by", "created_at")
    list_filter = ("state", "form")
    list_select_related = ("benchmark", "system", "by")
    search_fields = ("system__name", "system__team__name", "benchmark__slug", "filename", "by__username")
    ordering = ("-pk",)
    page = "submission"
