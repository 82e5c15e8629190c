"""Exports in a format that only a job writes."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation import conversion
from annotation.imports import batches
from annotation.models import MadeExport
from annotation.testset import TestSet
from evalsvc.core.formats.registry import own_format
from evalsvc.core.jobs.models import Job
from tests.cast.basics import run_job
from tests.cast.projects import curator, import_lines

pytestmark = pytest.mark.django_db
FORMAT = "spacy-docbin"
LINE = {"id": "d1", "text": "Ada lives in Turin", "spans": [[0, 3, "PER"], [13, 18, "LOC"]],
        "relations": [[0, "lives_in", 1]]}  # fmt: skip


@pytest.fixture
def gold(client: Client) -> TestSet:
    import_lines(None, [LINE], what="gold", name="Gold", version="1.0", kind="joint")
    client.force_login(curator())
    return TestSet.objects.get()


def run() -> Job:
    return run_job("export", MadeExport.objects.get().pk)


def import_gold(data: bytes) -> None:
    options: dict[str, Any] = {"name": "Back", "version": "1.0", "kind": "joint"}
    batch = batches.receive(
        content="gold",
        upload=BytesIO(data),
        filename="gold.spacy",
        options=options,
        by=curator(),
        project=None,
    )
    run_job("import", batch.pk)


def test_a_job_writes_the_file_that_the_page_then_offers(client: Client, gold: TestSet) -> None:
    page = reverse("test-set-export", args=[gold.slug])
    file = f"{reverse('test-set-export-file', args=[gold.slug])}?format={FORMAT}"
    assert "A job writes this format" in client.get(page, {"format": FORMAT}).content.decode()
    assert client.get(file).status_code == 409
    answer = client.post(page, {"format": FORMAT}, follow=True)
    assert "no active workers" in answer.content.decode()
    run()
    assert "format=spacy-docbin" in client.get(page, {"format": FORMAT}).content.decode()
    data = b"".join(client.get(file).streaming_content)  # type: ignore[attr-defined]
    import_gold(data)
    assert TestSet.objects.get(name="Back").sha256 == gold.sha256


def test_the_api_has_it_made_once(client: Client, gold: TestSet) -> None:
    address = reverse("api-test-set-export", args=[gold.slug, FORMAT])
    assert client.get(address).json()["code"] == "not_made"
    for _ in range(2):
        answer = client.post(address)
        assert (answer.status_code, answer.json()["size"]) == (202, None)
    assert Job.objects.filter(kind="export").count() == 1
    run()
    assert client.post(address).json()["size"] == len(b"".join(client.get(address).streaming_content))  # type: ignore[attr-defined]
    assert Job.objects.filter(kind="export").count() == 1


def test_a_file_above_the_limit_names_the_command(gold: TestSet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversion, "MOST_MADE", 10)
    conversion.make(gold, FORMAT, by=curator())
    assert "manage.py export gold-1-0 --format spacy-docbin" in run().error
    assert Job.objects.filter(kind="export").count() == 1
    conversion.make(gold, FORMAT, by=curator())
    assert Job.objects.filter(kind="export").count() == 2


def test_a_large_set_is_written_and_its_losses_counted_by_a_job(
    client: Client, gold: TestSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = reverse("api-test-set-export", args=[gold.slug, "conll"])
    small = b"".join(client.get(address, {"scheme": "BIOES"}).streaming_content)  # type: ignore[attr-defined]
    lost = client.get(f"{address}/losses", {"scheme": "BIOES"}).json()
    monkeypatch.setattr(conversion, "MOST_IN_WEB", 10)
    for of in (address, f"{address}/losses"):
        assert client.get(of, {"scheme": "BIOES"}).json()["code"] == "not_made"
    page = reverse("test-set-export", args=[gold.slug])
    chosen = {"format": "conll", "scheme": "BIOES"}
    assert "A job writes a set of this size" in client.get(page, chosen).content.decode()
    assert "no active workers" in client.post(page, chosen, follow=True).content.decode()
    assert client.post(f"{address}?scheme=BIOES").json() == {
        "format": "conll BIOES",
        "size": None,
        "lost": {},
    }
    run()
    assert b"".join(client.get(address, {"scheme": "BIOES"}).streaming_content) == small  # type: ignore[attr-defined]
    assert client.get(f"{address}/losses", {"scheme": "BIOES"}).json() == lost
    assert client.get(address, {"scheme": "IOB2"}).json()["code"] == "not_made"
    own = reverse("api-test-set-export", args=[gold.slug, own_format().key])
    assert b"".join(client.get(own).streaming_content).count(b"\n") == gold.rows  # type: ignore[attr-defined]
