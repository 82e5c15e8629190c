"""Page of a setting: its versions and inputs."""

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
from evalsvc.evaluation.pages.setting_forms import PHASE_TITLES, UNIT_TITLES


def _setting_or_404(request: HttpRequest, slug: str, key: str) -> tuple[Benchmark, Setting]:
    benchmark = roles.benchmark_for(request.user, slug)
    related = benchmark.settings.select_related("test_set", "only", "benchmark")
    return benchmark, get_object_or_404(related, key=key)


@require_safe
def setting_page(request: HttpRequest, slug: str, key: str) -> HttpResponse:
    benchmark, setting = _setting_or_404(request, slug, key)
    context = {
        "benchmark": benchmark,
        "setting": setting,
        "facts": facts(setting),
        "lead": _lead(setting),
        "coming": file_contract.state_at(setting, timezone.now()) == "coming",
        "versions": setting.versions.select_related("test_set", "only", "by").order_by("-number"),
        "organiser": roles.role_in(benchmark, request.user) == roles.ORGANISER,
    }
    return render(request, "evaluation/setting.html", context)


def _lead(setting: Setting) -> str:
    state = file_contract.state_at(setting, timezone.now())
    if state == "coming" and setting.opens_at:
        lead = f"Opens on {moment(setting.opens_at)} UTC."
    elif state == "closed" and setting.closes_at:
        lead = f"Closed on {moment(setting.closes_at)} UTC."
    else:
        lead = f"Open{f' until {moment(setting.closes_at)} UTC' if setting.closes_at else ''}."
    return lead + (" Its scores are sealed until it closes." if phases.is_sealed(setting) else "")


def facts(setting: Setting, version: SettingVersion | None = None) -> list[tuple[str, str]]:
    """Name what a setting scores, or scored under a version."""
    measure, gold = as_shown(setting, setting.main), version or setting
    way = "higher" if measure.higher_is_better else "lower"
    return [
        ("Test set", f"{gold.test_set}, {gold.test_set.get_origin_display().lower()}"),
        *([("Limited to", f"items of {gold.only}")] if gold.only else []),
        ("Unit", UNIT_TITLES[setting.unit]),
        ("Items", count(file_contract.count_items(gold))),
        ("Main measure", f"{measure.title}, {way} is better"),
        ("Accepts submissions", PHASE_TITLES[setting.phase]),
    ]


@login_required
@require_safe
def inputs_file(request: HttpRequest, slug: str, key: str) -> HttpResponseBase:
    """Download the items to predict, without their gold."""
    _, setting = _setting_or_404(request, slug, key)
    phases.require_begun(setting, request.user)
    disposition = f'attachment; filename="{slug}-{key}.jsonl"'
    return StreamingHttpResponse(
        file_contract.input_lines(setting),
        content_type="application/x-ndjson",
        headers={"Content-Disposition": disposition},
    )
