"""The page that checks a copy of a release."""

from __future__ import annotations

import hashlib
import json
from functools import partial
from io import BytesIO
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile, TemporaryUploadedFile
from django.test import Client
from django.urls import reverse

from annotation import projects
from annotation.pages import releases
from annotation.releases import folder, publishing
from annotation.releases.check import check
from annotation.testset import TestSet, release
from evalsvc.core.accounts import login_throttle
from evalsvc.core.accounts.models import User
from tests.annotation.releases.test_folder import released, unpacked
from tests.cast.basics import person
from tests.cast.projects import curator, error_codes

pytestmark = pytest.mark.django_db
CHECK = "/check-a-copy/"


def files_of(path: Path) -> list[SimpleUploadedFile]:
    return [SimpleUploadedFile(file.name, file.read_bytes()) for file in path.iterdir()]


def test_a_copy_is_checked_and_found_on_this_service(client: Client, tmp_path: Path) -> None:
    test_set = released()
    folder.write_folder(test_set, tmp_path)
    client.force_login(curator())
    response = client.post(CHECK, {"copies": files_of(tmp_path)})
    assert response.context["result"].differences == {}
    assert response.context["known"] == test_set
    (tmp_path / "gold.jsonl").write_text("")
    response = client.post(CHECK, {"copies": files_of(tmp_path)})
    assert set(response.context["result"].differences) == {"gold.jsonl"}
    assert "gold.jsonl" in response.content.decode()


@pytest.mark.parametrize("with_gold", [True, False])
def test_a_copy_is_compared_with_all_files_as_the_service_has_them(
    client: Client, tmp_path: Path, with_gold: bool
) -> None:
    test_set = released()
    folder.write_folder(test_set, tmp_path, with_gold=with_gold)
    publishing.publish(test_set, access="anybody", with_gold=with_gold, by=curator())
    page = client.post(CHECK, {"copies": files_of(tmp_path)})
    assert (page.context["unlike"], page.context["result"].differences) == ([], {})
    assert "every file as the service has it" in page.content.decode()
    changed = ["CITATION.cff", "README.md"]
    sums = (tmp_path / "SHA256SUMS").read_text()
    for name in changed:
        before = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(before + b"# by 40 people\n")
        digests = [hashlib.sha256(each).hexdigest() for each in (before, (tmp_path / name).read_bytes())]
        sums = sums.replace(*digests)
    (tmp_path / "SHA256SUMS").write_text(sums)
    page = client.post(CHECK, {"copies": files_of(tmp_path)})
    assert (page.context["unlike"], page.context["result"].differences) == (changed, {})
    assert "2 files of Trial 1.0 differ from those of this service" in " ".join(page.content.decode().split())


def test_files_of_a_copy_are_compared_for_people_who_may_download_them(
    client: Client, tmp_path: Path
) -> None:
    """For an adjudicator, the comparison confirmed guesses of the sentences that are in a set."""
    test_set = released()
    member = person("adju")
    projects.set_member(test_set.project, user=member, role="adjudicator", by=curator())
    folder.write_folder(test_set, tmp_path, with_gold=False)
    client.force_login(member)
    page = client.post(CHECK, {"copies": files_of(tmp_path)})
    assert (page.context["known"], page.context["compared"]) == (test_set, False)
    assert "every file as the service has it" not in page.content.decode()


def copies_of(test_set: TestSet, *, with_gold: bool) -> list[SimpleUploadedFile]:
    files = unpacked(test_set, with_gold=with_gold)
    return [SimpleUploadedFile(name, data) for name, data in files.items()]


def reply(
    client: Client, user: User | None, test_set: TestSet, *, with_gold: bool
) -> tuple[bool, bool, bool]:
    """Return whether a check of a genuine copy names its set, compares its files and names a withdrawal."""
    client.logout()
    if user:
        client.force_login(user)
    page = client.post(CHECK, {"copies": copies_of(test_set, with_gold=with_gold)})
    text = " ".join(page.content.decode().split())
    assert ("as the service has it" in text) == page.context.get("compared", False)
    assert ("Two texts were wrong." in text) == ("withdrawn" in page.context)
    return "known" in page.context, page.context.get("compared", False), "withdrawn" in page.context


# whether the set is named, its files are compared: of a copy with the gold, of one without it
@pytest.mark.parametrize(
    ("access", "published_gold", "reader", "full", "blind"),
    [
        ("anybody", True, "visitor", (True, True), (True, True)),
        ("anybody", False, "visitor", (False, False), (True, True)),
        ("anybody", False, "adju", (False, False), (True, True)),
        ("anybody", False, "scorer", (True, False), (True, True)),
        ("terms", True, "visitor", (False, False), (True, False)),
        ("terms", True, "accepted", (True, True), (True, True)),
        ("terms", False, "accepted", (False, False), (True, True)),
        ("terms", False, "adju", (False, False), (True, False)),
        ("named", True, "visitor", (False, False), (False, False)),
        ("named", True, "other", (False, False), (False, False)),
        ("named", True, "named", (True, True), (True, True)),
        ("named", False, "named", (False, False), (True, True)),
        ("named", True, "scorer", (True, False), (True, False)),
        ("named", False, "curator", (True, True), (True, True)),
    ],
)
def test_files_of_a_copy_are_compared_by_the_rule_of_the_download(
    client: Client,
    access: str,
    published_gold: bool,
    reader: str,
    full: tuple[bool, bool],
    blind: tuple[bool, bool],
) -> None:
    test_set = released()
    user = None if reader == "visitor" else person(reader, may_organise=reader in ("scorer", "curator"))
    if reader == "adju":
        assert user
        projects.set_member(test_set.project, user=user, role="adjudicator", by=curator())
    if reader == "scorer":
        release(test_set, username="scorer", by=curator())
    person("named")
    values = {"access": access, "terms": "Cite us.", "usernames": ["named"]}
    published = publishing.publish(test_set, with_gold=published_gold, by=curator(), **values)
    if reader == "accepted":
        assert user
        publishing.accept(published, sha256=publishing.terms_sha256(published), by=user)
    assert reply(client, user, test_set, with_gold=True) == (*full, False)
    assert reply(client, user, test_set, with_gold=False) == (*blind, False)


@pytest.mark.parametrize("published_gold", [True, False])
def test_a_check_names_a_withdrawal_to_people_who_see_its_page_and_confirms_no_files_to_them(
    client: Client, published_gold: bool
) -> None:
    test_set = released()
    publishing.publish(test_set, access="anybody", with_gold=published_gold, by=curator())
    publishing.withdraw(test_set, reason="Two texts were wrong.", by=curator())
    for user in (None, person("kim")):
        assert reply(client, user, test_set, with_gold=True) == (False, False, True)
        assert reply(client, user, test_set, with_gold=False) == (True, False, True)
    assert reply(client, curator(), test_set, with_gold=True) == (True, True, True)


def test_a_withdrawal_for_named_people_is_named_to_them_alone(client: Client) -> None:
    test_set = released()
    person("named")
    publishing.publish(test_set, access="named", with_gold=True, usernames=["named"], by=curator())
    publishing.withdraw(test_set, reason="Two texts were wrong.", by=curator())
    assert reply(client, person("named"), test_set, with_gold=True) == (False, False, True)
    for user in (None, person("kim")):
        assert reply(client, user, test_set, with_gold=True) == (False, False, False)


def test_a_check_says_the_same_of_right_and_wrong_labels_of_a_withdrawn_set(client: Client) -> None:
    """The answer depends on the manifest's slug alone, which everybody reads on the page of the release."""
    test_set = released()
    publishing.publish(test_set, access="anybody", with_gold=True, by=curator())
    publishing.withdraw(test_set, reason="Two texts were wrong.", by=curator())
    right = unpacked(test_set)
    manifest = json.loads(right["manifest.json"])
    wrong = json.dumps(manifest | {"sha256": "0" * 64}).encode()
    answers = []
    for manifest_json in (right["manifest.json"], wrong):
        page = client.post(CHECK, {"copies": [SimpleUploadedFile("manifest.json", manifest_json)]})
        answers.append(
            {name: page.context.get(name) for name in ("known", "compared", "unlike", "withdrawn")}
        )
    assert answers[0] == answers[1]


@pytest.mark.parametrize(("name", "earlier"), [("README.md", True), ("extra.txt", False), ("", False)])
def test_only_what_changes_after_a_freeze_may_be_of_an_earlier_copy(
    client: Client, tmp_path: Path, name: str, earlier: bool
) -> None:
    test_set = released()
    folder.write_folder(test_set, tmp_path)
    lines = (tmp_path / "SHA256SUMS").read_text().splitlines()
    lines = [line for line in lines if not line.endswith(name or "README.md")]
    (tmp_path / "README.md").unlink() if not name else (tmp_path / name).write_text("By 40 people.\n")
    if name:
        lines.append(f"{hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()}  {name}")
    (tmp_path / "SHA256SUMS").write_text("\n".join(lines) + "\n")
    client.force_login(curator())
    page = client.post(CHECK, {"copies": files_of(tmp_path)})
    assert (page.context["result"].differences, page.context["unlike"]) == ({}, [name or "README.md"])
    assert ("may be an earlier copy" in page.content.decode()) == earlier


def test_a_copy_is_checked_without_a_login_a_few_times_an_hour(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    test_set = released()
    folder.write_folder(test_set, tmp_path)
    assert client.get(CHECK).status_code == 200
    monkeypatch.setattr(login_throttle, "CHECKS_PER_NETWORK", 3)
    response = client.post(CHECK, {"copies": files_of(tmp_path)})
    assert response.context["result"].differences == {}
    assert "known" not in response.context  # it is not published
    publishing.publish(test_set, access="anybody", by=curator())
    response = client.post(CHECK, {"copies": files_of(tmp_path)})
    assert "known" not in response.context  # published without the gold that this copy has
    publishing.publish(test_set, access="anybody", with_gold=True, by=curator())
    response = client.post(CHECK, {"copies": files_of(tmp_path)})
    assert reverse("release", args=[test_set.slug]) in response.content.decode()
    rejected = client.post(CHECK, {"copies": files_of(tmp_path)})
    assert (rejected.status_code, "Retry-After" in rejected.headers) == (429, True)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("manifest.json", '{"excluded": [' + "1, " * releases.MAX_VALUES + "1]}"),
        ("ontology.json", '{"labels": [' + "{}, " * releases.MAX_VALUES + "{}]}"),
        ("statistics.json", '{"labels": {' + '"a": 1,\n' * releases.MAX_VALUES + '"a": 1}}'),
    ],
)
def test_a_check_reads_so_many_values_of_a_file_of_a_copy(client: Client, name: str, content: str) -> None:
    file = SimpleUploadedFile(name, content.encode())
    response = client.post(CHECK, {"copies": [file]})
    (error,) = response.context["form"].errors["copies"]
    assert error == f"{name} has more than 100,000 values. Use manage.py verify_release."


def test_an_archive_is_to_be_unpacked_first(client: Client) -> None:
    response = client.post(CHECK, {"copies": [SimpleUploadedFile("harbour-1-0.ZIP", b"PK")]})
    (error,) = response.context["form"].errors["copies"]
    assert error == "harbour-1-0.ZIP is an archive. Unpack it, and choose all files of its folder."
    assert "result" not in response.context


def test_lines_of_a_copy_end_where_those_of_a_folder_do() -> None:
    """A file without a line end was joined from its chunks, in quadratic time."""
    content = b"a\rb\nc" * 40_000
    for file in (SimpleUploadedFile("a", content), TemporaryUploadedFile("a", "text/plain", 0, None)):
        if isinstance(file, TemporaryUploadedFile):
            file.write(content)
        lines = releases.opened(file)
        assert [list(lines()) for _ in range(2)] == [list(BytesIO(content))] * 2


def test_a_cut_or_longer_file_of_a_copy_is_named_with_its_line(client: Client, tmp_path: Path) -> None:
    """Files of unequal length are left before their ends, and read again."""
    test_set = released()
    folder.write_folder(test_set, tmp_path)
    whole = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    gold, blind = whole["gold.jsonl"], whole["blind.jsonl"]
    last = gold.splitlines(keepends=True)[-1]
    copies = [
        {"gold.jsonl": gold + last},
        {"gold.jsonl": gold + b"\n"},
        {"gold.jsonl": gold.replace(b"\n", b"\n\n", 1)},
        {"blind.jsonl": b"".join(blind.splitlines(keepends=True)[:-1])},
        {"blind.jsonl": blind[: len(blind) // 2]},
        {"blind.jsonl": blind + b"\n"},
        {"provenance.jsonl": whole["provenance.jsonl"].replace(b"\n", b"\n\n", 1)},
        {"blind.jsonl": b"", "gold.jsonl": b""},
    ]
    client.force_login(curator())
    for changed in copies:
        files = whole | changed
        sent = [SimpleUploadedFile(name, data) for name, data in files.items()]
        page = client.post(CHECK, {"copies": sent})
        found = check({name: partial(BytesIO, data) for name, data in files.items()})
        assert page.context["result"].differences == found.differences
        assert found.differences.keys() & changed.keys()


def test_a_check_needs_files_and_has_a_limit(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    client.force_login(curator())
    assert error_codes(client.post(reverse("release-check"), {}), "copies") == ["required"]
    monkeypatch.setattr(releases, "MAX_BYTES", 10)
    sent = {"copies": [SimpleUploadedFile("gold.jsonl", b"x" * 11)]}
    assert error_codes(client.post(CHECK, sent), "copies") == ["too_large"]
