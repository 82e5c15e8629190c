"""Display names of annotators: their own for curators, numbers for everybody else."""

from __future__ import annotations

from collections import Counter

from annotation.models import Annotator, Project
from evalsvc.core.accounts.models import User


def display_names(project: Project, *members: User) -> dict[str, str]:
    """Map the names in downloads to display names, unique within the project.

    `members` are people who have not answered yet.
    """
    annotators = Annotator.objects.filter(project=project).select_related("user").order_by("pk")
    names = {user.username: user.shown_name for user in members}
    names |= {row.name: row.user.shown_name if row.user else row.name for row in annotators}
    uses = Counter(names.values())
    return {name: distinct(shown, name) if uses[shown] > 1 else shown for name, shown in names.items()}


def distinct(display_name: str, name: str) -> str:
    """Append the unique name to a display name that several people share."""
    return display_name if display_name == name else f"{display_name} ({name})"


def numbered_names(project: Project) -> dict[str, str]:
    """Map the names in downloads to numbers, to prevent bias."""
    names = Annotator.objects.filter(project=project).order_by("pk").values_list("name", flat=True)
    return {name: f"Annotator {number}" for number, name in enumerate(names, start=1)}
