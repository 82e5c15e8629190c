"""The command that does the same from a terminal, with this server's real address."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpRequest
from django.urls import reverse

from evalsvc.evaluation.models import Benchmark


@dataclass(frozen=True)
class Command:
    lines: list[str]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


def curl(request: HttpRequest, benchmark: Benchmark, *, system: str = "my system", run: str = "1") -> Command:
    address = request.build_absolute_uri(reverse("api-submissions", args=[benchmark.slug]))
    return Command(
        [
            'curl -H "Authorization: Bearer $TOKEN" \\',
            "  -F file=@predictions.jsonl \\",
            f'  -F system="{system}" -F run={run} \\',
            f"  {address}",
        ]
    )
