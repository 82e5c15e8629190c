"""The right to score against a test set: its readers', and those to whom they release it."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import reverse

from annotation import projects
from annotation.models import Project
from annotation.releases import publishing
from annotation.reports import member_effects
from annotation.testset import Release, TestSet, logged_changes, release, withdraw_release
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import Conflict, NotAllowed
from evalsvc.evaluation.benchmarks import creation
from evalsvc.evaluation.models import Setting
from tests.cast.basics import person
from tests.cast.benchmarks import LABELS, freeze, gold_sentence
from tests.cast.projects import create_project, curator
from tests.errors import code

pytestmark = pytest.mark.django_db


@pytest.fixture
def gold() -> TestSet:
    """An imported set of somebody who organises."""
    lines = [gold_sentence("s1", "Q1", "T", "born_in"), gold_sentence("s2", "Q2", "T")]
    return freeze("tides", lines, by=person("olga", may_organise=True))


@pytest.fixture
def other() -> User:
    return person("otto", may_organise=True)


def add_setting(gold: TestSet, by: User) -> None:
    labels = LABELS
    board = creation.create(title="Own", slug="own", task="relations", labels=labels, negative="N/A", by=by)
    creation.add_setting(
        board, key="main", title="Main", test_set=gold, unit="sentence", main="macro_f1", by=by
    )


def test_another_organiser_neither_sees_nor_uses_an_imported_set(gold: TestSet, other: User) -> None:
    assert not TestSet.objects.visible_to(other).exists()
    with pytest.raises(NotAllowed, check=code("not_your_set")):
        add_setting(gold, other)


def test_a_released_set_can_be_used_and_its_gold_not_downloaded(
    gold: TestSet, other: User, client: Client
) -> None:
    release(gold, username="otto", by=gold.by)
    add_setting(gold, other)
    client.force_login(other)
    assert client.get(reverse("test-set", args=[gold.slug])).status_code == 200
    assert client.get(reverse("test-set-lines", args=[gold.slug])).status_code == 403


def test_a_withdrawn_release_ends_the_right(gold: TestSet, other: User) -> None:
    release(gold, username="otto", by=gold.by)
    withdraw_release(gold, username="otto", by=gold.by)
    with pytest.raises(NotAllowed, check=code("not_your_set")):
        add_setting(gold, other)


def test_only_those_who_read_the_gold_release_it_and_only_to_organisers(gold: TestSet, other: User) -> None:
    release(gold, username="otto", by=gold.by)
    with pytest.raises(NotAllowed):
        release(gold, username="otto", by=other)
    person("sam")
    details = []
    for name in ("sam", "nobody"):
        with pytest.raises(Conflict, check=code("not_organiser")) as rejected:
            release(gold, username=name, by=gold.by)
        details.append(rejected.value.detail.replace(name, "…"))
    assert details[0] == details[1]  # tells nobody which names exist


def set_of(project: Project, *, by: User) -> TestSet:
    fields = {"slug": "own", "name": "own", "version": "1", "kind": "relations", "origin": "annotated"}
    return TestSet.objects.create(**fields, state="frozen", project=project, by=by, statistics={})


@pytest.mark.parametrize("role", ["viewer", "adjudicator"])
def test_a_viewer_or_adjudicator_who_may_organise_cannot_use_the_sets_of_the_project(
    role: str, other: User
) -> None:
    project = create_project()
    projects.set_member(project, user=other, role=role, by=curator())
    made = set_of(project, by=curator())
    assert TestSet.objects.visible_to(other).get() == made
    assert not TestSet.objects.usable_by(other).exists()
    assert TestSet.objects.usable_by(curator()).get() == made


def test_readers_release_a_set_on_its_page_and_end_the_release_there(
    gold: TestSet, other: User, client: Client
) -> None:
    client.force_login(gold.by)
    page = reverse("test-set", args=[gold.slug])
    assert client.post(page, {"username": "otto"}).status_code == 302
    assert b'value="otto"' in client.get(page).content
    assert client.post(page, {"withdraw": "otto"}).status_code == 302
    assert b'value="otto"' not in client.get(page).content


def test_the_release_form_says_that_hidden_phases_use_the_gold_and_not_how_many(
    gold: TestSet, client: Client
) -> None:
    """Some may be of benchmarks that the reader does not see."""
    client.force_login(gold.by)
    page = reverse("test-set", args=[gold.slug])
    assert "idden phases use" not in client.get(page).content.decode()
    add_setting(gold, gold.by)
    for address in (page, reverse("test-set-publish", args=[gold.slug])):
        subject = re.search(r"[^>]*(?=this gold now, or lines of it\.)", client.get(address).content.decode())
        assert subject is not None
        assert subject[0] == "Hidden phases use "
    Setting.objects.update(disclosure="open")
    assert "idden phases use" not in client.get(page).content.decode()


def test_releases_are_listed_and_changed_by_the_api(gold: TestSet, other: User, client: Client) -> None:
    client.force_login(gold.by)
    address = f"/api/v1/test-sets/{gold.slug}/releases"
    released = client.post(address, {"username": "otto"}, "application/json")
    assert (released.status_code, released.json()) == (200, {"usernames": ["otto"]})
    ended = client.post(address, {"username": "otto", "released": False}, "application/json")
    assert ended.json() == {"usernames": []} == client.get(address).json()


@pytest.mark.parametrize("role", ["annotator", ""])
def test_a_curator_keeps_no_release_to_their_own_account(other: User, role: str) -> None:
    """An annotator who had curated for a minute opened the hidden gold on a board of his own."""
    carla = person("carla", may_organise=True)
    dora = person("dora", may_organise=True)
    project = projects.create(title="Carla", kind="relations", k=1, by=carla)
    projects.set_member(project, user=other, role="curator", by=carla)
    gold = set_of(project, by=carla)
    for name in ("otto", "dora"):
        release(gold, username=name, by=other)
    publishing.publish(gold, access="named", with_gold=True, usernames=["otto", "dora"], by=other)
    effect = member_effects.of_role(project, users=[other], role=role, by=carla)
    assert (effect.releases_ended, effect.releases_left) == (2, 2)
    assert "2 releases of test sets to their own account end." in str(effect)
    assert "2 releases of test sets to or by them stay: see the pages of these sets." in str(effect)
    assert publishing.visible(other).exists()
    assert Release.objects.filter(user=other).exists()
    if role:
        projects.set_member(project, user=other, role=role, by=carla)
    else:
        projects.remove_member(project, user=other, by=carla)
    assert not TestSet.objects.usable_by(other).exists()
    assert TestSet.objects.usable_by(dora).get() == gold
    assert not publishing.visible(other).exists()
    assert publishing.visible(dora).exists()
    logged = [(each.action, each.before) for each in logged_changes(gold)]
    assert ("release to organiser ended", "otto") in logged
    assert ("release to named person ended", "otto") in logged


def test_a_publication_by_another_curator_stays_with_a_former_curator_whom_it_names(other: User) -> None:
    carla = person("carla", may_organise=True)
    project = projects.create(title="Carla", kind="relations", k=1, by=carla)
    projects.set_member(project, user=other, role="curator", by=carla)
    gold = set_of(project, by=carla)
    publishing.publish(gold, access="named", usernames=["otto"], by=carla)
    effect = member_effects.of_role(project, users=[other], role="", by=carla)
    assert (effect.releases_ended, effect.releases_left) == (0, 1)
    projects.remove_member(project, user=other, by=carla)
    assert publishing.visible(other).get().test_set == gold
