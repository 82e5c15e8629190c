"""What annotators are called: by the names they show before curators, by numbers before everybody else."""

from __future__ import annotations

from collections import Counter

from annotation.models import Annotator, Project
from evalsvc.core.accounts.models import User


def called(project: Project, *more: User) -> dict[str, str]:
    """From the name in downloads to the one that people read; where two show the same, both are told apart.

    `more` are members who have not begun.
    """
    rows = Annotator.objects.filter(project=project).select_related("user").order_by("pk")
    shown = {user.username: user.shown_name for user in more}
    shown |= {row.name: row.user.shown_name if row.user else row.name for row in rows}
    often = Counter(shown.values())
    return {name: apart(word, name) if often[word] > 1 else word for name, word in shown.items()}


def apart(word: str, name: str) -> str:
    """The shown name with the one that nobody else has."""
    return word if word == name else f"{word} ({name})"


def numbered(project: Project) -> dict[str, str]:
    """What annotators are called before those who decide or look on, so that nobody judges a name."""
    names = Annotator.objects.filter(project=project).order_by("pk").values_list("name", flat=True)
    return {name: f"Annotator {at}" for at, name in enumerate(names, start=1)}
