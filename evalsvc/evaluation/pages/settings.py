"""One setting as everybody reads it: by which gold it scored from when on, and what is to be predicted."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from evalsvc.core.web.formatting import count, moment
from evalsvc.evaluation import roles
from evalsvc.evaluation.benchmarks import file_contract, phases
from evalsvc.evaluation.measures.menu import as_shown
from evalsvc.evaluation.models import Benchmark, Setting, SettingVersion
from evalsvc.evaluation.pages.setting_forms import PHASE_WORDS, UNIT_WORDS


def _found(request: HttpRequest, slug: str, key: str) -> tuple[Benchmark, Setting]:
    benchmark = roles.benchmark_for(request.user, slug)
    related = benchmark.settings.select_related("test_set", "only", "benchmark")
    return benchmark, get_object_or_404(related, key=key)


@require_safe
def setting(request: HttpRequest, slug: str, key: str) -> HttpResponse:
    benchmark, found = _found(request, slug, key)
    told = {
        "benchmark": benchmark,
        "setting": found,
        "facts": facts(found),
        "lead": _lead(found),
        "coming": file_contract.state_at(found, timezone.now()) == "coming",
        "versions": found.versions.select_related("test_set", "only", "by").order_by("-number"),
        "organiser": roles.role_in(benchmark, request.user) == roles.ORGANISER,
    }
    return render(request, "evaluation/setting.html", told)


def _lead(found: Setting) -> str:
    state = file_contract.state_at(found, timezone.now())
    if state == "coming" and found.opens_at:
        told = f"It opens on {moment(found.opens_at)} UTC."
    elif state == "closed" and found.closes_at:
        told = f"It closed on {moment(found.closes_at)} UTC."
    else:
        told = f"It is open{f' until {moment(found.closes_at)} UTC' if found.closes_at else ''}."
    return told + (" Its scores are sealed until it closes." if phases.is_sealed(found) else "")


def facts(found: Setting, held: SettingVersion | None = None) -> list[tuple[str, str]]:
    """What it scores, by what; a version's gold where one is meant."""
    measure, gold, only = as_shown(found, found.main), held or found, (held or found).only
    way = "higher" if measure.higher_is_better else "lower"
    return [
        ("Test set", f"{gold.test_set}, {gold.test_set.get_origin_display().lower()}"),
        *([("Only", f"the sentences of {only}")] if only else []),
        ("Scored by", UNIT_WORDS[found.unit]),
        ("Rows", count(file_contract.count_items(gold))),
        ("Main measure", f"{measure.title}, {way} is better"),
        ("Takes what is submitted", PHASE_WORDS[found.phase]),
    ]


@login_required
@require_safe
def inputs_file(request: HttpRequest, slug: str, key: str) -> HttpResponseBase:
    """What is to be predicted, without its gold."""
    _, found = _found(request, slug, key)
    phases.require_begun(found, request.user)
    named = f'attachment; filename="{slug}-{key}.jsonl"'
    return StreamingHttpResponse(
        file_contract.input_lines(found),
        content_type="application/x-ndjson",
        headers={"Content-Disposition": named},
    )
