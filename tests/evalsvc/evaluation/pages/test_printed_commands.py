"""Commands that pages print are accepted by the API, for the benchmark of the page."""

from __future__ import annotations

import shlex
from datetime import timedelta
from random import Random
from urllib.parse import urlsplit

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from evalsvc.core.accounts.teams import create_team
from evalsvc.core.accounts.tokens import issue
from evalsvc.evaluation.benchmarks import creation
from evalsvc.evaluation.models import Benchmark, Setting, Submission
from tests.cast.basics import jsonl
from tests.cast.benchmarks import RELATION_GOLD, BenchmarkCast, freeze
from tests.workers.handlers.test_score import LABEL_LINES

PAGES = {
    "board": "/boards/{slug}/?setting=test",
    "submit": "/boards/{slug}/submit/",
    "team": "/teams/{team}/?benchmark={slug}",
}


def phased(cast: BenchmarkCast, slug: str, *phases: str) -> Benchmark:
    """A benchmark with a setting per phase."""
    benchmark = cast.benchmark(slug)
    for phase in phases:
        order = Random(f"{slug} {phase}").sample(RELATION_GOLD, len(RELATION_GOLD))  # no digest is another's
        gold = freeze(f"{slug}-{phase}", order, by=cast.olga)
        fields = {"title": phase, "unit": "sentence", "main": "micro_f1", "phase": phase}
        creation.add_setting(benchmark, key=phase or "main", test_set=gold, by=cast.olga, **fields)
    return benchmark


def run_command(client: Client, text: str, token: str) -> int:
    """Send what the command sends, and return the status."""
    words = shlex.split(text.replace("\\\n", " "))
    assert words.pop(0) == "curl"
    fields: dict[str, object] = {}
    address = words[-1]
    for flag, value in zip(words[:-1:2], words[1:-1:2], strict=True):
        if flag == "-H":
            assert value == "Authorization: Bearer $TOKEN"
        else:
            assert flag == "-F"
            name, _, content = value.partition("=")
            fields[name] = SimpleUploadedFile(content[1:], jsonl(LABEL_LINES)) if name == "file" else content
    headers = {"Authorization": f"Bearer {token}"}
    return Client().post(urlsplit(address).path, fields, headers=headers).status_code


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("phases", [("",), ("dev", "test"), ("", "dev", "test")])
@pytest.mark.parametrize("teams", [1, 2])
def test_a_printed_command_is_accepted_for_its_own_benchmark(
    client: Client, cast: BenchmarkCast, page: str, phases: tuple[str, ...], teams: int
) -> None:
    phased(cast, "first", "dev", "test")
    benchmark = phased(cast, "second", *phases)
    for number in range(1, teams):
        create_team(name=f"Other {number}", by=cast.kim)
    _, secret = issue(cast.kim, name="laptop", team=cast.kelpie)
    client.force_login(cast.kim)
    address = PAGES[page].format(slug="second", team="kelpie")
    if "test" not in phases:
        address = address.replace("?setting=test", "")
    command = client.get(address).context["curl"].text
    assert run_command(client, command, secret) == 202, command
    submission = Submission.objects.get()
    assert submission.benchmark == benchmark
    if page == "board" and "test" in phases:
        assert submission.phase == "test"


def test_a_command_names_a_phase_that_is_open(client: Client, cast: BenchmarkCast) -> None:
    phased(cast, "first", "dev", "test")
    Setting.objects.filter(key="test").update(closes_at=timezone.now() - timedelta(hours=1))
    client.force_login(cast.kim)
    _, secret = issue(cast.kim, name="laptop", team=cast.kelpie)
    command = client.get("/boards/first/?setting=test").context["curl"].text
    assert run_command(client, command, secret) == 202, command


def test_a_new_team_gets_the_command_of_the_benchmark_it_came_from(
    client: Client, cast: BenchmarkCast
) -> None:
    phased(cast, "first", "")
    phased(cast, "second", "")
    client.force_login(cast.olga)
    page = client.get(reverse("submit", args=["second"])).content.decode()
    address = f"{reverse('team-new')}?benchmark=second"
    assert f'href="{address}"' in page
    team = client.post(address, {"name": "Newcomers"}).headers["Location"]
    assert client.get(team).context["curl"].text.endswith("/benchmarks/second/submissions")


def test_a_team_without_runs_is_asked_which_benchmark(client: Client, cast: BenchmarkCast) -> None:
    phased(cast, "first", "")
    phased(cast, "second", "")
    client.force_login(cast.kim)
    response = client.get(reverse("team", args=["kelpie"]))
    assert response.context["curl"] is None
    assert 'href="?benchmark=second#terminal">second</a>' in response.content.decode()
