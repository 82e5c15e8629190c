"""Ledger page: hidden gold that scores give away, for organisers."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from evalsvc.core.web.figures import DataTable
from evalsvc.core.web.formatting import DASH, count, counted, number, percent
from evalsvc.evaluation.benchmarks.quotas import most_in_total
from evalsvc.evaluation.disclosure.ledger import Ledger, ledgers
from evalsvc.evaluation.pages.organise import organised


@login_required
@require_safe
def ledger(request: HttpRequest, slug: str) -> HttpResponse:
    benchmark = organised(request, slug)
    context = {"benchmark": benchmark, "ledgers": [_section(each) for each in ledgers(benchmark)]}
    return render(request, "evaluation/ledger.html", context)


def _section(ledger: Ledger) -> dict[str, Any]:
    setting = ledger.setting
    return {
        "setting": setting,
        "warning": ledger.warning,
        "lead": _lead(ledger, most_in_total(setting)),
        "costs": DataTable(
            ("Shown", "Step, points", "Bits per file"),
            [
                (
                    cost.title if cost.shown else f"{cost.title} (not shown)",
                    DASH if cost.step is None else number(100 * cost.step),
                    number(cost.bits),
                )
                for cost in ledger.costs
            ],
        ),
        "teams": DataTable(
            ("Team", "Files", "Bits at most", "% of the gold"),
            [(str(t.team), count(t.files), number(t.bits, digits=0), percent(t.share)) for t in ledger.teams],
        ),
    }


def _lead(ledger: Ledger, most: int | None) -> str:
    gold = f"The labels hold {count(round(ledger.gold_bits))} bits; each file gives away at most "
    per_file = f"{number(ledger.bits_per_file)}"
    if most is None:
        return f"{gold}{per_file}. The number of files of a team is not limited."
    bits = most * ledger.bits_per_file
    return (
        f"{gold}{per_file}, so {counted(most, 'file')} of a team at most {count(round(bits))}: "
        f"{percent(ledger.share(bits))} %."
    )
