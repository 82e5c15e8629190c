"""Page of a setting: its versions and inputs."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.utils.text import slugify
from django.views.decorators.http import require_safe

from evalsvc.core.web.downloads import jsonl_file
from evalsvc.core.web.formatting import moment
from evalsvc.core.web.views import page
from evalsvc.evaluation import roles
from evalsvc.evaluation.benchmarks import file_contract, versions
from evalsvc.evaluation.disclosure import gold_digest
from evalsvc.evaluation.disclosure.policy import policy_for
from evalsvc.evaluation.models import Benchmark, Setting
from evalsvc.evaluation.pages.board_view import facts


def _setting_or_404(request: HttpRequest, slug: str, key: str) -> tuple[Benchmark, Setting]:
    benchmark = roles.benchmark_for(request.user, slug)
    related = benchmark.settings.select_related("test_set", "only", "benchmark")
    return benchmark, get_object_or_404(related, key=key)


@require_safe
def setting_page(request: HttpRequest, slug: str, key: str) -> HttpResponse:
    benchmark, setting = _setting_or_404(request, slug, key)
    rows = setting.versions.select_related("test_set", "only", "by").order_by("-number")
    golds = [(each, gold_digest.of_version(each)) for each in rows]
    context = {
        "benchmark": benchmark,
        "setting": setting,
        "facts": facts(setting, versions.of_setting(setting)),
        "lead": _lead(setting),
        "coming": file_contract.state_at(setting, timezone.now()) == "coming",
        "versions": golds,
        "gold": golds[0][1],
        "n_inputs": file_contract.count_inputs(setting),
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
    lead += " Its scores are sealed until it closes." if roles.is_sealed(setting) else ""
    return f"{lead} {policy_for(setting, None).sentence}".strip()


@page()
def inputs_file(request: HttpRequest, slug: str, key: str) -> HttpResponseBase:
    """Download the items to predict, without their gold."""
    _, setting = _setting_or_404(request, slug, key)
    roles.require_begun(setting, request.user)
    return jsonl_file(f"{slug}-{key}.jsonl", file_contract.input_lines(setting))


@page()
def all_inputs(request: HttpRequest, slug: str) -> HttpResponseBase:
    """Download every item that a file sent now must answer."""
    benchmark = roles.benchmark_for(request.user, slug)
    contract = file_contract.for_new_file(benchmark, phase=request.GET.get("phase", ""))
    name = "-".join(filter(None, (slug, slugify(contract.phase), "inputs")))
    return jsonl_file(f"{name}.jsonl", file_contract.input_lines(*contract.settings))
