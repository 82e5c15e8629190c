"""The page that checks a copy of a release."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from annotation.pages import releases
from annotation.releases import folder
from tests.annotation.releases.test_folder import released
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


def test_a_check_needs_files_and_has_a_limit(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    client.force_login(curator())
    assert error_codes(client.post(reverse("release-check"), {}), "copies") == ["required"]
    monkeypatch.setattr(releases, "MAX_BYTES", 10)
    sent = {"copies": [SimpleUploadedFile("gold.jsonl", b"x" * 11)]}
    assert error_codes(client.post(CHECK, sent), "copies") == ["too_large"]
