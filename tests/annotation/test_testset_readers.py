"""Who reads the digest of a gold, and what viewers and adjudicators read of frozen sets."""

from __future__ import annotations

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from annotation import projects
from annotation.models import Project
from annotation.releases import folder, publishing
from annotation.splits import making
from annotation.testset import Release, TestSet
from evalsvc.core.accounts.models import User
from tests.annotation.releases.test_folder import released, unpacked
from tests.cast.basics import person, run_job
from tests.cast.projects import curator

pytestmark = pytest.mark.django_db
ROLES = ("viewer", "adjudicator")
PAGES = ("test-set", "test-set-companions", "test-set-changes", "test-set-release", "release")
API = ("api-test-set", "api-test-set-card", "api-test-set-companions", "api-test-set-log")
CHARTS = ("labels", "patterns", "source-quality")


def member(project: Project | None, role: str, name: str = "vera") -> User:
    assert project is not None
    projects.set_member(project, user=person(name), role=role, by=curator())
    return person(name)


def close(project: Project | None) -> None:
    assert project is not None
    Project.objects.filter(pk=project.pk).update(state="closed")


def both(test_set: TestSet) -> list[TestSet]:
    """Return a set and its source set, which has statistics as well."""
    source = TestSet.objects.get(twin=test_set)
    if source.statistics is None:
        run_job("describe", source.pk)
        source.refresh_from_db()
    return [test_set, source]


def addresses(test_set: TestSet) -> list[str]:
    """Return the addresses of everything that is shown of a set, of its project and of lists of sets."""
    of_set = [reverse(name, args=[test_set.slug]) for name in (*PAGES, *API)]
    of_set += [reverse("test-set-sets-file", args=[test_set.slug, each]) for each in ("csv", "json")]
    of_set += [
        reverse("test-set-chart", args=[test_set.slug, chart, each])
        for chart in CHARTS
        for each in ("svg", "csv")
    ]
    assert test_set.project is not None
    names = ("project", "project-log", "project-log-csv", "api-project", "api-project-log")
    of_project = [reverse(name, args=[test_set.project.slug]) for name in names]
    lists = ["/", *map(reverse, ("test-sets", "api-test-sets", "releases"))]
    return of_set + of_project + lists


def texts(client: Client, test_set: TestSet) -> dict[str, str]:
    """Return the texts of all replies about a set and its source set."""
    every = dict.fromkeys(address for each in both(test_set) for address in addresses(each))
    replies = {address: client.get(address) for address in every}
    return {
        address: f"{reply.status_code} {b''.join(reply).decode(errors='replace')}"
        for address, reply in replies.items()
    }


def digests(test_set: TestSet) -> set[str]:
    """Return the beginnings of all digests of labels without a secret."""
    sets = both(test_set)
    found = [*(each.sha256 for each in sets), *map(folder.manifest_sha256, sets)]
    return {digest[:12] for digest in [*found, test_set.manifest["provenance_sha256"]]}


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("role", ROLES)
def test_only_people_who_may_learn_a_gold_read_a_digest_of_it(
    client: Client, role: str, closed: bool
) -> None:
    """A viewer told the labels of 24 of 24 lines, by the digest and the counts of labels."""
    test_set = released()
    if closed:
        close(test_set.project)

    def read(user: User) -> set[str]:
        client.force_login(user)
        replies = "".join(texts(client, test_set).values())
        return {digest for digest in digests(test_set) if digest in replies}

    annotated, source = both(test_set)
    assert len(read(curator()) & {each.sha256[:12] for each in (annotated, source)}) == 2
    assert read(member(test_set.project, role)) == set()
    body = client.get(f"/api/v1/test-sets/{test_set.slug}").json()
    assert (body["sha256"], body["rows"], body["version"]) == (None, 3, "1.0")
    page = client.get(reverse("test-set", args=[test_set.slug])).content.decode()
    assert "Shown to people who may read the gold" in page


@pytest.mark.parametrize(
    "way", ["released", "public", "terms", "named", "withdrawn", "without gold", "others"]
)
def test_who_has_a_release_or_may_download_the_gold_reads_its_digest(client: Client, way: str) -> None:
    test_set = released()
    viewer = member(test_set.project, "viewer")
    known = way in ("released", "public", "terms", "named")
    if way == "released":
        Release.objects.create(test_set=test_set, user=viewer, by=curator())
    else:
        access = {"terms": "terms", "named": "named", "others": "named"}.get(way, "anybody")
        named = ["vera"] if way == "named" else [person("kim").username]
        values = {"access": access, "terms": "Cite us.", "usernames": named}
        publishing.publish(test_set, with_gold=way != "without gold", by=curator(), **values)
    if way == "withdrawn":
        publishing.withdraw(test_set, reason="Two texts were wrong.", by=curator())
    client.force_login(viewer)
    address = reverse("test-set", args=[test_set.slug])
    replies = [client.get(each).content.decode() for each in (address, f"/api/v1{address}".rstrip("/"))]
    assert [test_set.sha256 in reply for reply in replies] == [known] * 2
    assert (test_set.sha256[:12] in client.get("/test-sets/").content.decode()) == known
    rows = client.get("/api/v1/test-sets").json()["results"]
    assert {row["slug"]: row["sha256"] is not None for row in rows} == {
        each.slug: known and each == test_set for each in both(test_set)
    }


def test_a_check_of_a_copy_confirms_no_guess_of_labels(client: Client) -> None:
    test_set = released()
    sent = [SimpleUploadedFile(name, data) for name, data in unpacked(test_set).items()]
    blind = [SimpleUploadedFile(name, data) for name, data in unpacked(test_set, with_gold=False).items()]

    def known_to(user: User, copies: list[SimpleUploadedFile]) -> bool:
        client.force_login(user)
        for file in copies:
            file.seek(0)
        return "known" in client.post(reverse("release-check"), {"copies": copies}).context

    viewer = member(test_set.project, "viewer")
    assert (known_to(curator(), sent), known_to(curator(), blind)) == (True, True)
    assert (known_to(viewer, sent), known_to(viewer, blind)) == (False, True)
    publishing.publish(test_set, access="named", with_gold=True, usernames=["vera"], by=curator())
    assert known_to(viewer, sent)


def test_the_seed_of_a_stratified_split_is_for_people_who_may_learn_the_gold(client: Client) -> None:
    """Labels decide which lines a part has: with the seed, its lines check guesses of them."""
    test_set = released()
    for seed, stratified in (("balanced-7", True), ("any-8", False)):
        plan = making.Plan.of(parts=f"{seed}-a=0.5,{seed}-b=0.5", seed=seed, stratified=stratified)
        making.make(test_set, plan, by=curator())
    parts = TestSet.objects.exclude(manifest__split=None).filter(origin="annotated")
    viewer = member(test_set.project, "viewer")
    shown = {}
    for part in parts:
        run_job("split", part.pk)
        for user in (curator(), viewer):
            client.force_login(user)
            content = client.get(reverse("test-set", args=[part.slug])).context["content"]
            seed = part.manifest["split"]["seed"]
            shown[seed, user.username] = f"seed {seed}" in dict(content.provenance).get("Part", "")
    assert shown == {
        ("balanced-7", "curator"): True,
        ("balanced-7", "vera"): False,
        ("any-8", "curator"): True,
        ("any-8", "vera"): True,
    }
