"""The page that checks a copy of a release."""

from __future__ import annotations

import hashlib
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
from evalsvc.core.accounts import login_throttle
from tests.annotation.releases.test_folder import released
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
