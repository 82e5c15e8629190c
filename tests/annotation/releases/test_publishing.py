"""Publication: who may download, accepted terms, withdrawal, and the log of downloads."""

from __future__ import annotations

import io
import re
import zipfile
from typing import Any
from xml.etree import ElementTree

import pytest
from django.contrib.auth.models import AnonymousUser
from django.test import Client

from annotation.models import Card, Download, Publication
from annotation.releases import folder, publishing
from annotation.releases.listing import listing
from annotation.testset import TestSet
from evalsvc.core.errors.exceptions import Conflict, DomainError, NotAllowed
from evalsvc.evaluation.benchmarks import creation
from tests.annotation.releases.test_folder import released
from tests.cast.basics import person
from tests.cast.projects import curator, error_codes
from tests.errors import code

pytestmark = pytest.mark.django_db
PAGE = "/releases/trial-1-0/"
FILE = f"{PAGE}release.zip"


def published(**options: Any) -> Publication:
    return publishing.publish(released(), by=curator(), **({"access": "anybody"} | options))


def names_in(response: Any) -> set[str]:
    with zipfile.ZipFile(io.BytesIO(b"".join(response.streaming_content))) as archive:
        return {name.partition("/")[2] for name in archive.namelist()}


def test_anybody_downloads_what_is_published_for_anybody_and_it_is_logged(client: Client) -> None:
    published()
    assert "gold.jsonl" not in names_in(client.get(FILE))
    client.force_login(person("sam"))
    assert "blind.jsonl" in names_in(client.get(FILE))
    logged = publishing.downloads(TestSet.objects.get(origin="annotated"), by=curator())
    assert [(entry.user and entry.user.username, entry.what) for entry in logged] == [
        ("sam", "published release without gold"),
        (None, "published release without gold"),
    ]


def test_the_page_of_the_set_shows_licence_and_publication(client: Client) -> None:
    test_set = published(access="terms", terms="Cite us.").test_set
    Card.objects.create(test_set=test_set, licence="cc-by-4.0", languages=["en", "de"], by=curator())
    client.force_login(curator())
    page = client.get("/test-sets/trial-1-0/").content.decode()
    assert "people who accept its terms:" in page
    for shown in (page, client.get(PAGE).content.decode()):
        assert "<dt>Licence</dt><dd>cc-by-4.0</dd>" in shown
        assert "<dt>Languages</dt><dd>en, de</dd>" in shown
    publishing.withdraw(test_set, reason="Wrong texts.", by=curator())
    assert "Withdrawn on" in client.get("/test-sets/trial-1-0/").content.decode()


def test_single_files_are_those_of_the_published_release(client: Client) -> None:
    published(access="terms", terms="Cite us.")
    address = "/releases/trial-1-0/files/"
    assert f"{address}blind.jsonl" not in client.get(PAGE).content.decode()
    assert client.get(f"{address}blind.jsonl").status_code == 403
    publishing.publish(TestSet.objects.get(origin="annotated"), access="anybody", by=curator())
    assert f"{address}blind.jsonl" in client.get(PAGE).content.decode()
    assert len(b"".join(client.get(f"{address}blind.jsonl").streaming_content).splitlines()) == 3
    assert client.get(f"{address}gold.jsonl").status_code == 404
    assert [each.what for each in Download.objects.all()] == ["published blind.jsonl"]


def test_charts_of_a_published_gold_are_files_of_their_own(client: Client) -> None:
    publication = published(with_gold=True)
    links = re.findall(r'href="([^"]+/charts/[^"]+)"', client.get(PAGE).content.decode())
    names = {link.rsplit("/", 1)[1] for link in links}
    assert names == {
        f"{name}.{end}" for name in ("patterns", "labels", "source-quality") for end in ("svg", "csv")
    }
    for link in links:
        body = client.get(link).content
        assert body
        if link.endswith(".svg"):
            assert ElementTree.fromstring(body).tag == "{http://www.w3.org/2000/svg}svg"
    assert b"Label,Count" in client.get(f"{PAGE}charts/labels.csv").content
    assert client.get(f"{PAGE}charts/labels.png").status_code == 404
    assert client.get(f"{PAGE}charts/none.svg").status_code == 404
    publishing.publish(publication.test_set, access="anybody", by=curator())
    assert client.get(f"{PAGE}charts/labels.csv").status_code == 404  # its page shows no figures either


def test_the_page_of_sentences_to_predict_has_no_digest_of_the_gold(client: Client) -> None:
    test_set = published().test_set
    page = client.get(PAGE).content.decode()
    assert folder.manifest_sha256(test_set, with_gold=False) in page
    assert test_set.sha256[:12] not in page
    assert folder.manifest_sha256(test_set) not in page


def test_who_has_not_accepted_the_terms_reads_no_digest_of_the_gold_or_its_files(client: Client) -> None:
    """With the counts of labels, or an earlier version, they would check guesses of the labels."""
    publication = published(access="terms", terms="Cite us, naïve 引用.", with_gold=True)
    test_set = publication.test_set
    files = listing(test_set)
    digests = [test_set.sha256[:12], folder.manifest_sha256(test_set), *(file.sha256 for file in files)]

    def shown() -> set[bool]:
        page = client.get(PAGE).content.decode()
        assert all(file.name in page for file in files)
        return {digest in page for digest in digests}

    assert shown() == {False}
    client.force_login(sam := person("sam"))
    assert shown() == {False}
    client.post(PAGE, {"terms": publishing.terms_sha256(publication)})
    assert (shown(), test_set.known_to(sam)) == ({True}, True)
    publishing.publish(test_set, access="terms", terms="Cite it.", with_gold=True, by=curator())
    assert (shown(), test_set.known_to(sam)) == ({False}, False)
    client.force_login(curator())
    assert shown() == {True}


@pytest.mark.parametrize(("access", "known"), [("anybody", True), ("terms", False), ("named", False)])
def test_a_visitor_may_know_gold_that_is_published_for_anybody(access: str, known: bool) -> None:
    person("sam")
    publication = published(access=access, with_gold=True, terms="Cite us.", usernames=["sam"])
    assert publication.test_set.known_to(AnonymousUser()) is known
    assert not TestSet.objects.get(twin=publication.test_set).known_to(AnonymousUser())


def test_the_api_sends_one_file_by_its_name(client: Client) -> None:
    published()
    client.force_login(person("sam"))
    address = "/api/v1/releases/trial-1-0/file"
    body = b"".join(client.get(address, {"name": "CITATION.cff"}).streaming_content)
    assert body.startswith(b"cff-version")
    assert client.get(address, {"name": "gold.jsonl"}).status_code == 404
    client.force_login(curator())
    folder_address = "/api/v1/test-sets/trial-1-0/release"
    assert client.get(folder_address, {"name": "gold.jsonl"}).status_code == 200
    assert client.get(folder_address, {"name": "gold.jsonl", "gold": "0"}).status_code == 404


def test_the_page_shows_figures_of_the_gold_only_with_the_gold(client: Client) -> None:
    test_set = published().test_set
    assert "Vote patterns" not in client.get(PAGE).content.decode()
    publishing.publish(test_set, access="anybody", with_gold=True, by=curator())
    page = client.get(PAGE).content.decode()
    assert "The rule settled" in page
    assert "Sentences by label" in page


def test_a_release_with_gold_has_all_files(client: Client) -> None:
    published(with_gold=True)
    assert {"gold.jsonl", "provenance.jsonl"} <= names_in(client.get(FILE))


def test_gold_that_a_hidden_phase_uses_is_not_published() -> None:
    by = curator()
    by.may_organise = True
    by.save()
    labels = [{"name": name} for name in "ABC"]
    board = creation.create(title="Own", slug="own", task="relations", labels=labels, negative="N/A", by=by)
    creation.add_setting(
        board, key="main", title="Main", test_set=released(), unit="sentence", main="macro_f1", by=by
    )
    test_set = TestSet.objects.get(origin="annotated")
    with pytest.raises(Conflict, check=code("gold_hidden")):
        publishing.publish(test_set, access="anybody", with_gold=True, by=by)
    assert not publishing.publish(test_set, access="anybody", by=by).with_gold


def test_published_gold_is_hidden_by_no_phase() -> None:
    by = curator()
    by.may_organise = True
    by.save()
    test_set = published(with_gold=True).test_set
    labels = [{"name": name} for name in "ABC"]
    board = creation.create(title="Own", slug="own", task="relations", labels=labels, negative="N/A", by=by)
    values = {"test_set": test_set, "unit": "sentence", "main": "macro_f1", "by": by}
    with pytest.raises(Conflict, check=code("gold_published")):
        creation.add_setting(board, key="main", title="Main", phase="test", **values)
    opened = creation.add_setting(board, key="main", title="Main", phase="test", disclosure="open", **values)
    with pytest.raises(Conflict, check=code("gold_published")):
        creation.change_setting(opened, by=by, disclosure="hidden")
    assert creation.change_setting(opened, by=by, title="Open").title == "Open"
    publishing.withdraw(test_set, reason="It is a test set.", by=by)
    assert creation.change_setting(opened, by=by, disclosure="hidden").disclosure == "hidden"


def test_terms_are_accepted_before_a_download_and_again_when_they_change(client: Client) -> None:
    publication = published(access="terms", terms="Do not train on it.")
    assert client.get(PAGE).status_code == 200
    assert client.get(FILE).status_code == 403
    sent = {"terms": publishing.terms_sha256(publication)}
    assert client.post(PAGE, sent).headers["Location"] == f"/login/?next={PAGE}"
    client.force_login(person("sam"))
    assert client.get(FILE).status_code == 403
    assert client.post(PAGE, sent).status_code == 302
    assert names_in(client.get(FILE))
    publishing.publish(publication.test_set, access="terms", terms="Cite it, too.", by=curator())
    assert client.get(FILE).status_code == 403
    assert client.post(PAGE, sent).status_code == 409
    assert Download.objects.count() == 1


def test_named_people_alone_see_and_download_it(client: Client) -> None:
    sam = person("sam")
    published(access="named", usernames=["sam"], with_gold=True)
    chart = f"{PAGE}charts/labels.csv"
    assert [client.get(address).status_code for address in (PAGE, chart)] == [404, 404]
    client.force_login(person("tim"))
    assert [client.get(address).status_code for address in (PAGE, FILE, chart)] == [404, 404, 404]
    assert PAGE not in client.get("/releases/").content.decode()
    client.force_login(sam)
    assert PAGE in client.get("/releases/").content.decode()
    assert client.get(chart).status_code == 200
    assert names_in(client.get(FILE))


def test_a_withdrawn_release_keeps_its_page_and_says_why(client: Client) -> None:
    publication = published()
    with pytest.raises(DomainError, check=code("invalid_input")):
        publishing.withdraw(publication.test_set, reason=" ", by=curator())
    publishing.withdraw(publication.test_set, reason="Two texts were private.", by=curator())
    page = client.get(PAGE)
    assert "no longer shown" not in page.content.decode()  # it had no gold
    assert (page.status_code, FILE in page.content.decode()) == (200, False)
    assert "Two texts were private." in page.content.decode()
    assert client.get(FILE).status_code == 409
    publishing.publish(publication.test_set, access="anybody", by=curator())
    assert client.get(FILE).status_code == 200


def test_the_page_of_a_withdrawn_release_tells_no_more_than_one_without_gold(client: Client) -> None:
    """A phase may hide the gold since; its digest would confirm guessed labels."""
    test_set = published(with_gold=True).test_set
    shown = client.get(PAGE).content.decode()
    charts = re.findall(r'href="(/releases/[^"]+\.(?:svg|csv))"', shown)
    assert test_set.sha256[:12] in shown
    assert charts
    publishing.withdraw(test_set, reason="It is hidden now.", by=curator())
    withdrawn = client.get(PAGE).content.decode()
    assert test_set.sha256[:12] not in withdrawn
    assert "of the gold are no longer shown" in withdrawn
    assert folder.manifest_sha256(test_set) not in withdrawn
    assert {client.get(chart).status_code for chart in charts} == {404}


def test_only_readers_of_the_gold_publish_and_see_the_log() -> None:
    test_set, sam = released(), person("sam")
    for act in (
        lambda: publishing.publish(test_set, access="anybody", by=sam),
        lambda: publishing.withdraw(test_set, reason="Mine.", by=sam),
        lambda: publishing.downloads(test_set, by=sam),
    ):
        with pytest.raises(NotAllowed):
            act()


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"access": "all"}, "access"),
        ({"access": "terms"}, "terms"),
        ({"access": "named"}, "usernames"),
        ({"access": "named", "usernames": "nobody"}, "usernames"),
    ],
)
def test_a_fault_of_the_form_is_named_at_its_field(
    client: Client, options: dict[str, str], field: str
) -> None:
    test_set = released()
    client.force_login(curator())
    response = client.post(f"/test-sets/{test_set.slug}/publish/", options)
    assert error_codes(response, field) in (["invalid_input"], ["invalid_choice"])
    assert not Publication.objects.exists()


def test_a_curator_publishes_and_withdraws_by_page_and_api_and_reads_the_log(client: Client) -> None:
    test_set = released()
    client.force_login(curator())
    address = f"/test-sets/{test_set.slug}/publish/"
    assert client.post(address, {"access": "anybody", "with_gold": "on"}).status_code == 302
    assert names_in(client.get(FILE))
    assert "published release" in client.get(address).content.decode()
    assert client.post(address, {"action": "withdraw", "reason": "Private."}).status_code == 302
    api = f"/api/v1/test-sets/{test_set.slug}/"
    again = client.post(f"{api}publish", {"access": "terms", "terms": "Cite it."}, "application/json").json()
    assert (again["access"], again["withdrawn_at"], again["accepted"]) == ("terms", None, False)
    sent = {"terms_sha256": again["terms_sha256"]}
    accepted = client.post("/api/v1/releases/trial-1-0/accept", sent, "application/json").json()
    assert accepted["accepted"] is True
    assert names_in(client.get("/api/v1/releases/trial-1-0/file"))
    client.get(f"{api}lines")
    log = client.get(f"{api}downloads").json()
    assert [row["what"] for row in log] == ["gold", "published release without gold", "published release"]
    done = client.post(f"{api}withdraw", {"reason": "Wrong."}, "application/json").json()
    assert done["reason"] == "Wrong."


def test_the_effect_of_publishing_is_shown_and_nothing_changes(client: Client) -> None:
    publication = published(access="terms", terms="Cite us.")
    publishing.accept(publication, sha256=publishing.terms_sha256(publication), by=person("sam"))
    client.force_login(curator())
    new = {"access": "terms", "terms": "Cite us twice.", "with_gold": True}
    effect = "People who accept the terms may download 3 sentences with gold. 1 person has to accept"
    shown = client.post("/test-sets/trial-1-0/publish/", new | {"do": "show"}).content.decode()
    assert effect in shown
    address = "/api/v1/test-sets/trial-1-0/publish"
    answer = client.post(address, new | {"preview": True}, content_type="application/json").json()
    assert effect in answer["effect"]
    publication.refresh_from_db()
    assert (publication.terms, publication.with_gold) == ("Cite us.", False)
    named = {"access": "named", "usernames": ["sam", "vera"], "preview": False}
    person("vera")
    client.post(address, named, content_type="application/json")
    fewer = {"access": "named", "usernames": ["sam"], "preview": True}
    answer = client.post(address, fewer, content_type="application/json").json()
    assert answer["effect"].startswith("1 named person may download")
    assert answer["effect"].endswith("1 named person may no longer.")
    assert publication.readers.count() == 2


def test_the_effect_of_a_withdrawal_is_shown_before_it(client: Client) -> None:
    publication = published()
    client.get(FILE)
    client.force_login(curator())
    effect = "Anybody can no longer download 3 sentences without gold. 1 download so far: copies stay."
    assert effect in client.get("/test-sets/trial-1-0/publish/").content.decode()
    address, body = "/api/v1/test-sets/trial-1-0/withdraw", {"reason": "Wrong.", "preview": True}
    assert client.post(address, body, content_type="application/json").json()["effect"] == effect
    publication.refresh_from_db()
    assert publication.withdrawn_at is None
