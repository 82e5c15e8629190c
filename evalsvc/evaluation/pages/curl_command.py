"""The command that does the same from a terminal, with this server's real address."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpRequest
from django.urls import reverse

from evalsvc.core.accounts.models import Team
from evalsvc.evaluation import roles
from evalsvc.evaluation.models import Benchmark


@dataclass(frozen=True)
class Command:
    lines: list[str]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


def curl(request: HttpRequest, benchmark: Benchmark, *, team: Team | None = None) -> Command:
    """For one team, the person's first unless told; it is named where they are in several."""
    address = request.build_absolute_uri(reverse("api-submissions", args=[benchmark.slug]))
    teams = list(roles.teams_of(request.user))
    named = f" -F team={(team or teams[0]).slug}" if len(teams) > 1 else ""
    return Command(
        [
            'curl -H "Authorization: Bearer $TOKEN" \\',
            "  -F file=@predictions.jsonl \\",
            f'  -F system="my system" -F run=1{named} \\',
            f"  {address}",
        ]
    )
