"""Plain text becomes a sentence per item, by a job."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.management import call_command

from annotation.models import Batch, Item
from evalsvc.core.formats.problems import Problems
from tests.cast.projects import ProjectCast
from workers.sentences import read

TEXT = "Ada met Bo. Was it\nin Turin?\n\n\n東京へ行く。大阪へ。\n"


def test_sentences_end_at_marks_and_blank_lines() -> None:
    items = list(read(TEXT.encode(), problems=Problems(), name="notes"))
    assert [(line, item.id, item.text) for line, item in items] == [
        (1, "notes-1", "Ada met Bo."),
        (1, "notes-2", "Was it in Turin?"),
        (5, "notes-3", "東京へ行く。"),
        (5, "notes-4", "大阪へ。"),
    ]


def test_a_paragraph_without_end_is_reported() -> None:
    problems = Problems()
    assert list(read(b"a " * 60_000, problems=problems)) == []
    assert problems.first[0].code == "line_too_long"


@pytest.mark.parametrize("mark", [b"[", b"http://"])
def test_a_long_word_of_marks_is_one_sentence(mark: bytes) -> None:
    """spaCy alone takes minutes: it strips a mark, and searches the rest again."""
    assert [len(item.text) for _, item in read(mark * 14_000, problems=Problems())] == [len(mark) * 14_000]


@pytest.mark.django_db
def test_the_command_imports_sentences_of_a_text(tmp_path: Path) -> None:
    cast = ProjectCast.create(kind="entities", labels=())
    (tmp_path / "notes.txt").write_text(TEXT)
    call_command(
        "import_items", "harbour", str(tmp_path / "notes.txt"), format="plain-text", by=cast.curator.username
    )
    assert Batch.objects.get().state == "done"
    assert list(Item.objects.values_list("external_id", flat=True)) == [f"notes-{n}" for n in range(1, 5)]
