"""Team pages and tokens: for members only, secrets shown once."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.testset import TestSet
from evalsvc.core.accounts.models import ApiToken, Team, User
from evalsvc.core.accounts.tokens import digest, issue
from evalsvc.evaluation.benchmarks import creation
from evalsvc.evaluation.models import Benchmark, Setting
from tests.cast.basics import PASSWORD
from tests.cast.benchmarks import LABELS, BenchmarkCast
from tests.evalsvc.evaluation.test_leaderboard import answers, scored
from tests.workers.handlers.test_score import LABEL_LINES
from workers.runner import run_next

TOKEN = {"name": "cluster", "scope": "submit", "days": "30", "password": PASSWORD}


def test_a_team_has_the_quotas_of_the_benchmarks_that_it_takes_part_in(
    client: Client, cast: BenchmarkCast
) -> None:
    benchmark = cast.relations(per_day=5)
    cast.benchmark("other", title="Other board", per_day=7)
    client.force_login(cast.kim)
    address = reverse("team", args=["kelpie"])
    of_both = client.get(address).context["quotas"]
    assert [quota.remaining for quota in of_both] == ["7 of 7 left", "5 of 5 left"]  # it is in none yet
    cast.submit(benchmark, LABEL_LINES)
    assert [quota.remaining for quota in client.get(address).context["quotas"]] == ["4 of 5 left"]
    assert len(client.get(address, {"benchmark": "other"}).context["quotas"]) == 2


def test_a_team_without_an_active_run_is_visible_to_members_only(client: Client, cast: BenchmarkCast) -> None:
    address = reverse("team", args=["kelpie"])
    assert client.get(address).headers["Location"] == f"/login/?next={address}"
    client.force_login(cast.lars)
    assert client.get(address).status_code == 404
    client.force_login(cast.kim)
    assert client.get(address).status_code == 200


def team_of(cast: BenchmarkCast, **fields: Any) -> Benchmark:
    """Kelpie has one run scored and one waiting."""
    board = cast.relations(**fields)
    scored(cast, board, "Scored net", 4)
    cast.submit(board, LABEL_LINES, system="Waiting net")
    issue(cast.kim, name="secret cluster", team=cast.kelpie)
    return board


def test_others_see_only_the_ranked_systems_of_a_team(client: Client, cast: BenchmarkCast) -> None:
    board = team_of(cast)
    client.force_login(cast.lars)
    page = client.get(reverse("team", args=["kelpie"])).content.decode()
    assert "Scored net" in page
    for hidden in ("Waiting net", "secret cluster", ">kim<", "Runs</h2>"):
        assert hidden not in page.partition("<main")[2], hidden
    Setting.objects.update(sealed=True, closes_at=timezone.now() + timedelta(days=1))
    assert client.get(reverse("team", args=["kelpie"])).status_code == 404
    Setting.objects.update(sealed=False)
    Benchmark.objects.filter(pk=board.pk).update(public=False)
    assert client.get(reverse("team", args=["kelpie"])).status_code == 404


def test_all_see_the_same_number_of_runs_with_different_answers(client: Client, cast: BenchmarkCast) -> None:
    scored(cast, cast.relations(), "Scored net", 4, 5, 3, 4)
    for person in (cast.kim, cast.lars):
        client.force_login(person)
        page = client.get(reverse("team", args=["kelpie"])).content.decode()
        listed = re.search(r">Scored net</a>.*?</li>", page, re.DOTALL)
        assert listed
        assert "<span>3 runs</span>" in listed[0]
        assert ("3 runs scored." in page) == (person == cast.kim)


def test_runs_in_a_sealed_phase_are_not_counted_for_others(client: Client, cast: BenchmarkCast) -> None:
    benchmark = cast.relations()
    Setting.objects.update(phase="dev")
    fields = {"title": "Test", "unit": "sentence", "main": "accuracy", "phase": "test", "sealed": True}
    fields |= {"test_set": TestSet.objects.get(), "closes_at": timezone.now() + timedelta(days=1)}
    creation.add_setting(benchmark, key="test", by=cast.olga, **fields)
    for run, phase in ((1, "dev"), (2, "test"), (3, "test")):
        cast.submit(benchmark, answers(run + 1), system="Net", run=str(run), phase=phase)
        run_next("score")
    for person, count in ((cast.kim, "3 runs"), (cast.lars, "1 run"), (cast.olga, "3 runs")):
        client.force_login(person)
        assert f"<span>{count}</span>" in client.get(reverse("team", args=["kelpie"])).content.decode()


def test_an_organiser_sees_the_teams_runs_on_own_boards_and_no_tokens(
    client: Client, cast: BenchmarkCast
) -> None:
    team_of(cast, per_day=5)
    elsewhere = creation.create(
        slug="other", title="Other", task="relations", labels=LABELS, negative="N/A", by=admin()
    )
    fields = {"test_set": TestSet.objects.get(), "unit": "sentence", "main": "accuracy", "by": admin()}
    creation.add_setting(elsewhere, key="main", title="main", disclosure="open", **fields)
    cast.submit(elsewhere, LABEL_LINES, system="Net elsewhere")
    client.force_login(cast.olga)
    page = client.get(reverse("team", args=["kelpie"])).content.decode()
    for shown in ("Scored net", "Waiting net", "3 of 5 left", ">kim<"):
        assert shown in page
    for hidden in ("secret cluster", "Net elsewhere", reverse("token-new", args=["kelpie"]), "/remove/"):
        assert hidden not in page, hidden
    page = client.get(reverse("submissions")).content.decode()
    assert reverse("team", args=["kelpie"]) in page


def admin() -> User:
    return User.objects.get_or_create(username="root", is_superuser=True)[0]


def test_runs_can_be_filtered_to_unfinished_ones(client: Client, cast: BenchmarkCast) -> None:
    cast.submit(cast.relations(), LABEL_LINES, system="Waiting net")
    client.force_login(cast.kim)
    address = reverse("team", args=["kelpie"])
    response = client.get(address)
    assert {key: n for key, _, n in response.context["filters"]} == {"all": 1, "under-way": 1, "needs-you": 0}
    for show, listed in (("under-way", ["Waiting net"]), ("needs-you", [])):
        runs = client.get(address, {"show": show}).context["runs"]
        assert [entry.submission.system.name for entry in runs] == listed


def test_a_new_token_is_shown_once_and_stored_as_a_digest(client: Client, cast: BenchmarkCast) -> None:
    client.force_login(cast.kim)
    response = client.post(reverse("token-new", args=["kelpie"]), TOKEN)
    token = ApiToken.objects.get()
    address = reverse("token", args=[token.pk])
    assert response.headers["Location"] == address
    cookie = response.cookies["shown_once"]
    assert (cookie["path"], cookie["httponly"], cookie["samesite"]) == ("/", True, "Strict")
    own = client.post(reverse("account-token-new"), {**TOKEN, "name": "other"}).headers["Location"]
    client.cookies["shown_once"] = cookie.value
    assert not re.search(r"evs_[\w-]{20,}", client.get(own).content.decode())  # that of another page
    client.cookies["shown_once"] = cookie.value
    response = client.get(address)
    (secret,) = set(re.findall(r"evs_[\w-]{20,}", response.content.decode()))
    assert token.digest == digest(secret)
    assert (token.team, token.user, token.scope) == (cast.kelpie, cast.kim, "submit")
    assert "no-store" in response["Cache-Control"]
    page = client.get(reverse("team", args=["kelpie"])).content.decode()
    assert secret not in page
    assert token.prefix in page


def test_reloading_the_page_of_a_new_token_creates_and_shows_none(
    client: Client, cast: BenchmarkCast
) -> None:
    client.force_login(cast.kim)
    address = client.post(reverse("token-new", args=["kelpie"]), TOKEN).headers["Location"]
    client.get(address)
    page = client.get(address).content.decode()
    assert not re.search(r"evs_[\w-]{20,}", page)
    assert ApiToken.objects.count() == 1


def test_only_the_creator_sees_the_page_of_a_new_token(client: Client, cast: BenchmarkCast) -> None:
    client.force_login(cast.kim)
    address = client.post(reverse("token-new", args=["kelpie"]), TOKEN).headers["Location"]
    client.force_login(cast.lars)
    assert client.get(address).status_code == 404


def test_a_token_of_another_team_cannot_be_created(client: Client, cast: BenchmarkCast) -> None:
    client.force_login(cast.lars)
    assert client.post(reverse("token-new", args=["kelpie"]), TOKEN).status_code == 404
    assert not ApiToken.objects.exists()


def test_a_token_is_revoked_by_its_owner(client: Client, cast: BenchmarkCast) -> None:
    token, _ = issue(cast.kim, name="cluster", team=cast.kelpie)
    address = reverse("token-revoke", args=["kelpie", token.pk])
    client.force_login(cast.lars)
    assert client.post(address).status_code == 404
    client.force_login(cast.kim)
    assert client.get(address).status_code == 405
    client.post(address)
    token.refresh_from_db()
    assert token.revoked_at is not None


def test_a_team_is_owned_by_its_creator(client: Client, cast: BenchmarkCast) -> None:
    client.force_login(cast.olga)
    response = client.post(reverse("team-new"), {"name": "Sea Mouse"})
    assert response.headers["Location"] == reverse("team", args=["sea-mouse"])
    assert Team.objects.get(slug="sea-mouse").members.get().user == cast.olga


def test_a_taken_name_is_reported_at_its_field(client: Client, cast: BenchmarkCast) -> None:
    client.force_login(cast.olga)
    response = client.post(reverse("team-new"), {"name": "Kelpie"})
    assert response.status_code == 400
    assert 'class="errorlist"' in response.content.decode()


def test_nobody_becomes_a_member_without_accepting_and_no_page_tells_who_has_an_account(
    client: Client, cast: BenchmarkCast
) -> None:
    """Members are bound: by one team under hidden settings, and by the teams that a person may own."""
    User.objects.create_user("nora", first_name="Nora Field")
    client.force_login(cast.kim)
    pages = [
        client.post(
            reverse("team-members", args=["kelpie"]), {"username": name, "role": "owner"}, follow=True
        ).content.decode()
        for name in ("nora", "nemo")
    ]
    assert not cast.kelpie.members.filter(user__username="nora").exists()
    assert "Kelpie has no member nora." in pages[0]
    assert "Nora Field" not in pages[0]
    assert "Kelpie has no member nemo." in pages[1]


def test_an_owner_changes_the_role_of_a_member(client: Client, cast: BenchmarkCast) -> None:
    nora = User.objects.create_user("nora")
    cast.kelpie.members.create(user=nora)
    client.force_login(cast.kim)
    client.post(reverse("team-members", args=["kelpie"]), {"username": "nora", "role": "owner"})
    assert cast.kelpie.members.get(user=nora).role == "owner"


def test_members_who_are_not_owners_change_no_role(client: Client, cast: BenchmarkCast) -> None:
    nora = User.objects.create_user("nora")
    cast.kelpie.members.create(user=nora)
    client.force_login(nora)
    fields = {"username": "nora", "role": "owner"}
    assert client.post(reverse("team-members", args=["kelpie"]), fields).status_code == 403
