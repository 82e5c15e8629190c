"""Who reads the digest of a gold, and what viewers and adjudicators read of frozen sets."""

from __future__ import annotations

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from annotation import projects
from annotation.freezing import builder
from annotation.models import Project
from annotation.releases import folder, publishing
from annotation.splits import companions, making
from annotation.testset import Companion, Release, TestSet
from evalsvc.core.accounts.models import User
from tests.annotation.releases.test_folder import decide, frozen, released, unpacked
from tests.cast.basics import person, run_job, sentence
from tests.cast.projects import answered_item, create_project, curator, import_lines
from tests.permissions.requester import rolled_back
from tests.permissions.test_visibility import VOLATILE

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
    """From the digest and the counts of labels, a viewer worked out 24 of 24 labels."""
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
    "way",
    [
        "released",
        "public",
        "accepted",
        "terms",
        "changed terms",
        "named",
        "withdrawn",
        "without gold",
        "others",
    ],
)
def test_who_has_a_release_or_may_download_the_gold_reads_its_digest(client: Client, way: str) -> None:
    test_set = released()
    viewer = member(test_set.project, "viewer")
    known = way in ("released", "public", "accepted", "named")
    if way == "released":
        Release.objects.create(test_set=test_set, user=viewer, by=curator())
    else:
        access = {"named": "named", "others": "named"}.get(way, "anybody")
        access = "terms" if way in ("terms", "accepted", "changed terms") else access
        named = ["vera"] if way == "named" else [person("kim").username]
        values = {"access": access, "terms": "Cite us.", "usernames": named}
        publication = publishing.publish(test_set, with_gold=way != "without gold", by=curator(), **values)
        if way in ("accepted", "changed terms"):
            publishing.accept(publication, sha256=publishing.terms_sha256(publication), by=viewer)
        if way == "changed terms":
            values["terms"] = "Cite us, and ask first: naïve 引用."
            publishing.publish(test_set, with_gold=True, by=curator(), **values)
    if way == "withdrawn":
        publishing.withdraw(test_set, reason="Two texts were wrong.", by=curator())
    client.force_login(viewer)
    address = reverse("test-set", args=[test_set.slug])
    replies = [client.get(each).content.decode() for each in (address, f"/api/v1{address}".rstrip("/"))]
    assert [test_set.sha256 in reply for reply in replies] == [known] * 2
    assert (test_set.sha256[:12] in client.get("/test-sets/").content.decode()) == known
    assert (json.loads(replies[1])["statistics"] is None) != known
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


def world(label: str, *, decided: bool) -> TestSet:
    """Freeze two of four sentences: settled or decided, with other labels, votes and left-out disputes."""
    project = create_project(k=2)
    import_lines(project, [sentence(f"s{at}", relations=[label]) for at in range(4)])
    projects.open_for_work(project, by=curator())
    answered_item(project, [label], [label], item="s0")
    if decided:
        answered_item(project, [label], ["C"], item="s1")
        decide(project, "s1", label)
        answered_item(project, ["A"], ["B"], item="s2")
    else:
        answered_item(project, [label], [label], item="s1")
    return frozen(project)


def replies_about(client: Client, test_set: TestSet) -> list[str]:
    """Return all replies about a set and its source set, without what differs between any two worlds."""
    assert test_set.project is not None
    replies = [
        f"{each} {text}"
        for each, text in texts(client, test_set).items()
        if test_set.project.slug not in each and each != "/"
    ]
    return [VOLATILE.sub("·", text).replace(test_set.project.slug, "·") for text in replies]


@pytest.mark.parametrize("role", ROLES)
def test_until_a_project_is_closed_others_than_curators_read_no_outcomes_of_its_sets(
    client: Client, role: str
) -> None:
    """Two freezes around an answer revealed its label, and whether it settled the sentence."""
    shown: list[list[str]] = []
    for label, decided in (("A", False), ("B", True)):
        with rolled_back():
            test_set = world(label, decided=decided)
            client.force_login(member(test_set.project, role))
            shown.append(replies_about(client, test_set))
            content = client.get(reverse("test-set", args=[test_set.slug])).context["content"]
            assert content.lead == "2 sentences. 3 relations and N/A."
            assert content.left_out == "Some sentences were left out."
            assert dict(content.provenance)["Rule"] == "majority; 2 answers per sentence"
            assert "Outcomes" not in dict(content.provenance)
            close(test_set.project)
            assert client.get(f"/api/v1/test-sets/{test_set.slug}").json()["statistics"]
            closed = client.get(reverse("test-set", args=[test_set.slug])).context["content"]
            left_out = "1 disputed and 1 open" if decided else "2 open"
            assert closed.left_out == f"Left out by the curator: {left_out} sentences."
            assert dict(closed.provenance)["Outcomes"].startswith("1 by" if decided else "2 by")
    assert shown[0] == shown[1]
    assert "You will see statistics, outcomes and charts" in "".join(shown[0])


def statuses(client: Client, test_set: TestSet) -> set[tuple[int, str]]:
    """Return status and code of what has figures alone."""
    api = client.get(reverse("api-test-set-companions", args=[test_set.slug]))
    files = [reverse("test-set-chart", args=[test_set.slug, name, "csv"]) for name in CHARTS]
    files.append(reverse("test-set-sets-file", args=[test_set.slug, "csv"]))
    files.append(reverse("test-set-companions", args=[test_set.slug]))
    found = {(client.get(each).status_code, "") for each in files}
    return found | {(api.status_code, api.json().get("code", ""))}


@pytest.mark.parametrize("role", ROLES)
def test_charts_and_shared_data_are_for_members_once_their_project_is_closed(
    client: Client, role: str
) -> None:
    test_set = released()
    client.force_login(curator())
    assert statuses(client, test_set) == {(200, "")}
    client.force_login(member(test_set.project, role))
    assert statuses(client, test_set) == {(409, ""), (409, "project_not_closed")}
    page = client.get(reverse("test-set", args=[test_set.slug])).content.decode()
    assert not {name for name in ("hx-get", "/charts/", "Outcomes", "Show shared data") if name in page}
    close(test_set.project)
    assert statuses(client, test_set) == {(200, "")}


def test_figures_of_data_beside_a_set_are_for_members_once_the_project_of_the_data_is_closed(
    client: Client,
) -> None:
    test_set, data = released(), frozen_alone("Other")
    viewer = member(test_set.project, "viewer")
    member(data.project, "viewer")
    close(test_set.project)
    counted = {"key": "facts", "train": 1204, "test": 2, "shared": 0, "items": 0}
    Companion.objects.create(test_set=test_set, data=data, role="training", shared=[counted], by=curator())
    client.force_login(viewer)
    assert companions.held_back(test_set, viewer) == {data.pk}
    address = f"/api/v1/test-sets/{test_set.slug}/data"
    (row,) = client.get(address).json()["companions"]
    assert (row["slug"], row["shared"]) == (data.slug, [])
    page = client.get(reverse("test-set-companions", args=[test_set.slug])).content.decode()
    assert ("1,204" in page, "is not shown while its figures are hidden" in page) == (False, True)
    close(data.project)
    assert client.get(address).json()["companions"][0]["shared"][0]["train"] == 1204


def frozen_alone(name: str) -> TestSet:
    """Freeze another project of one sentence."""
    project = create_project(k=1)
    import_lines(project, [sentence("s0")])
    projects.open_for_work(project, by=curator())
    answered_item(project, ["A"], item="s0")
    made = builder.freeze(project, name=name, version="1.0", by=curator())
    run_job("freeze", made.pk)
    run_job("describe", made.pk)
    made.refresh_from_db()
    return made


def test_a_failed_freeze_tells_members_no_number_of_undecided_sentences(client: Client) -> None:
    test_set = released()
    reason = "7 sentences were reopened. Settle them, or leave them out."
    named = {"slug": "failed", "name": "Failed", "version": "1.0", "kind": "relations", "origin": "annotated"}
    values = named | {"state": "failed", "reason": reason}
    TestSet.objects.create(**values, project=test_set.project, by=curator())
    seen = {}
    for user in (curator(), member(test_set.project, "viewer")):
        client.force_login(user)
        replies = [client.get(each) for each in ("/test-sets/failed/", "/api/v1/test-sets/failed")]
        seen[user.username] = [reason in reply.content.decode() for reply in replies]
    assert seen == {"curator": [True, True], "vera": [False, False]}


def test_a_release_without_gold_has_no_outcomes_until_the_project_is_closed() -> None:
    """Viewers could download it."""
    test_set = released()

    def card() -> str:
        return unpacked(test_set, with_gold=False)["README.md"].decode()

    assert "Some sentences were left out." in card()
    assert ("1 open" in card(), "Answers:" in card()) == (False, False)
    digest = folder.manifest_sha256(test_set, with_gold=False)
    close(test_set.project)
    assert test_set.project is not None
    test_set.project.refresh_from_db()
    assert ("Left out by the curator: 1 open sentence." in card(), "Answers:" in card()) == (True, True)
    assert folder.manifest_sha256(test_set, with_gold=False) == digest
