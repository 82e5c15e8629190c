"""Records in Django's admin: who reads them, what they leave out, what may be corrected."""

from __future__ import annotations

import logging
import re

import pytest
from django.contrib.admin.models import LogEntry
from django.db.models import Model
from django.test import Client
from django.urls import reverse

from annotation.models import Batch
from annotation.testset import TestSet
from evalsvc.core.accounts.models import User
from evalsvc.core.accounts.users import set_support
from evalsvc.core.activity import models as log
from evalsvc.core.jobs.models import Job, JobEvent
from evalsvc.evaluation.models import Submission
from evalsvc.support.records import site
from evalsvc.support.site import MAX_SEARCH
from tests.cast import service
from tests.cast.service import ServiceCast
from tests.permissions.requester import Requester

LISTS = [f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist" for model in site._registry]
QUOTING: dict[type[Model], tuple[str, ...]] = {
    Batch: ("reason", "filename"),
    Job: ("error", "step"),
    JobEvent: ("detail",),
    Submission: ("reason",),
    TestSet: ("reason",),
}
NEVER_SHOWN = (
    *(service.TEXT, service.SOURCE, service.REASON, service.GOLD_TEXT, service.GOLD_NAME, service.GOLD_TOKEN),
    *service.COMMENTS.values(),
)


@pytest.fixture
def cast(requester: Requester, db: None) -> ServiceCast:
    return requester.cast


def logged_in(cast: ServiceCast, name: str) -> Client:
    client = Client()
    client.force_login(User.objects.get(pk=cast[name].pk))
    return client


@pytest.fixture
def helper(cast: ServiceCast) -> Client:
    """A client of a person who may read records, and is nothing else."""
    set_support(cast["sam"], may=True, by=cast["root"])
    return logged_in(cast, "sam")


@pytest.fixture
def root(cast: ServiceCast) -> Client:
    return logged_in(cast, "root")


def records(client: Client) -> dict[str, str]:
    """Every list, and the page of every record, by address."""
    pages = {address: client.get(address).content.decode() for address in map(reverse, LISTS)}
    for listed in list(pages.values()):
        for address in re.findall(r'<t[hd][^>]*><a href="(/admin/[^"?]+/change/)', listed):
            pages[address] = client.get(address).content.decode()
    return pages


def test_whoever_may_read_records_reads_all_kinds_and_no_text_label_or_remark(
    helper: Client, cast: ServiceCast
) -> None:
    for model, fields in QUOTING.items():
        model.objects.update(**dict.fromkeys(fields, f"Found “{service.TEXT}”"))
    pages = records(helper)
    assert len(pages) > 3 * len(LISTS)
    for address, content in pages.items():
        assert "<h1>" in content, address
        assert not [text for text in NEVER_SHOWN if text in content], address
        assert cast["kim"].password not in content
        assert not re.search(r"\b[0-9a-f]{64}\b", content), f"{address} shows a digest"


def test_whoever_may_read_records_corrects_none(helper: Client, cast: ServiceCast) -> None:
    address = reverse("admin:teams_user_change", args=[cast["kim"].pk])
    assert 'name="email"' not in helper.get(address).content.decode()
    corrected = {"first_name": "Kim", "last_name": "Berg", "email": "kim@example.org", "_save": "Save"}
    assert helper.post(address, corrected).status_code == 403
    assert User.objects.get(username="kim").email != "kim@example.org"


def test_an_administrator_corrects_an_address_and_the_logs_name_both(
    root: Client,
    cast: ServiceCast,
    caplog: pytest.LogCaptureFixture,
    django_capture_on_commit_callbacks,
) -> None:
    kim = cast["kim"]
    address = reverse("admin:teams_user_change", args=[kim.pk])
    corrected = {"first_name": "Kim", "last_name": kim.last_name, "email": "kim@example.org", "_save": "Save"}
    with caplog.at_level(logging.INFO, "evalsvc.security"), django_capture_on_commit_callbacks(execute=True):
        assert root.post(address, corrected).status_code == 302
    assert User.objects.get(pk=kim.pk).email == "kim@example.org"
    assert User.objects.get(pk=kim.pk).password == kim.password
    assert User.objects.get(pk=kim.pk).email_since > kim.date_joined  # others had the address before
    assert [line for line in caplog.messages if "account_corrected" in line and "email" in line]
    assert [line for line in caplog.messages if line.startswith(f"email_changed account={kim.pk}:kim by=")]
    assert LogEntry.objects.get().object_id == str(kim.pk)


@pytest.mark.parametrize(
    "field", ["is_superuser", "is_staff", "password", "username", "may_organise", "is_active"]
)
def test_no_other_field_of_an_account_is_taken(root: Client, cast: ServiceCast, field: str) -> None:
    address = reverse("admin:teams_user_change", args=[cast["sam"].pk])
    names = {"first_name": "S", "last_name": "T", "email": "sam@example.org", "_save": "Save"}
    assert root.post(address, names | {field: "1"}).status_code == 400
    assert User.objects.get(username="sam").first_name != "S"


def test_a_record_that_does_not_exist_or_has_no_number_answers_404(root: Client) -> None:
    for key in ("999999", "9" * 60, "abc", "-1"):
        for address in LISTS:
            page = reverse(address.removesuffix("list"), args=[key])
            assert root.get(page).status_code == 404, page


def test_a_record_is_named_by_its_number_alone(root: Client) -> None:
    page = reverse("admin:teams_user_change", args=[User.objects.get(username="sam").pk])
    assert root.get(f"{page}?_to_field=").status_code == 200
    assert root.get(f"{page}?_to_field=username").status_code == 400


@pytest.mark.parametrize("search", ["x" * (MAX_SEARCH + 1), "a " * MAX_SEARCH, "%", "'", '"', "\\"])
def test_any_search_is_answered(root: Client, search: str) -> None:
    for address in map(reverse, LISTS):
        assert root.get(address, {"q": search}).status_code == 200, address


def test_a_list_takes_as_many_queries_for_more_records(root: Client, django_assert_max_num_queries) -> None:
    for address in map(reverse, LISTS):
        with django_assert_max_num_queries(12):
            root.get(address)


def test_records_need_the_right_which_only_administrators_give(root: Client, cast: ServiceCast) -> None:
    owner = logged_in(cast, "kim")
    people = reverse("people")
    allowed = {"change": "support", "person": cast["kim"].pk}
    assert owner.post(people, allowed).status_code == 403
    assert owner.get("/admin/").status_code == 403
    assert root.post(people, allowed).status_code == 302
    assert owner.get("/admin/").status_code == 200
    assert root.post(people, allowed | {"change": "no-support"}).status_code == 302
    assert owner.get("/admin/").status_code == 403


@pytest.mark.parametrize(
    ("address", "condition"),
    [
        ("admin:teams_user_changelist", "password__startswith=pbkdf2"),
        ("admin:teams_apitoken_changelist", "digest__startswith=0"),
        ("admin:teams_apitoken_changelist", "user__password__startswith=pbkdf2"),
        ("admin:annotation_testset_changelist", "sha256__startswith=0"),
        ("admin:annotation_testset_changelist", "origin__startswith=a"),
        ("admin:activity_logentry_changelist", "after__icontains=born_in"),
        ("admin:activity_logentry_changelist", "about__startswith=s1"),
    ],
)
def test_no_condition_reads_what_records_leave_out(helper: Client, address: str, condition: str) -> None:
    assert helper.get(f"{reverse(address)}?{condition}").status_code == 400


def test_records_of_a_project_do_not_say_which_sentence_or_person_they_are_about(
    helper: Client, cast: ServiceCast
) -> None:
    log.record(cast.harbour, "answer", by=cast["cleo"], about="ann on s1", before="counted", after="excluded")
    entry = log.LogEntry.objects.latest("pk")
    pages = [
        helper.get(reverse("admin:activity_logentry_changelist"), {"q": "answer"}),
        helper.get(reverse("admin:activity_logentry_change", args=[entry.pk])),
    ]
    assert [(page.status_code, "ann on s1" in page.content.decode()) for page in pages] == [(200, False)] * 2
    assert helper.get(reverse("admin:activity_logentry_changelist"), {"area": "project"}).status_code == 200
