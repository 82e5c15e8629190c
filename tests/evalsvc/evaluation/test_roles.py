"""Organisers and guests of a benchmark, added and removed in the browser."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from annotation.testset import TestSet
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import Conflict, DomainError, NotAllowed
from evalsvc.evaluation import roles
from evalsvc.evaluation.models import Benchmark
from tests.cast.benchmarks import BenchmarkCast
from tests.evalsvc.evaluation.disclosure.phase import hidden_phase, scored


@pytest.fixture
def vault(cast: BenchmarkCast) -> Benchmark:
    return cast.benchmark("vault", public=False)


def test_a_viewer_sees_a_hidden_board_and_changes_nothing(cast: BenchmarkCast, vault: Benchmark) -> None:
    assert not roles.visible(cast.kim).exists()
    roles.set_person(vault, user=cast.kim, role="viewer", by=cast.olga)
    assert roles.visible(cast.kim).get() == vault
    with pytest.raises(NotAllowed):
        roles.set_person(vault, user=cast.lars, role="viewer", by=cast.kim)


def test_a_board_keeps_an_organiser(cast: BenchmarkCast, vault: Benchmark) -> None:
    for act in (
        lambda: roles.remove_person(vault, user=cast.olga, by=cast.olga),
        lambda: roles.set_person(vault, user=cast.olga, role="viewer", by=cast.olga),
    ):
        with pytest.raises(Conflict, match="only organiser"):
            act()
    assert roles.role_in(vault, cast.olga) == "organiser"


def test_an_unknown_role_is_rejected(cast: BenchmarkCast, vault: Benchmark) -> None:
    with pytest.raises(DomainError) as error:
        roles.set_person(vault, user=cast.kim, role="king", by=cast.olga)
    assert error.value.code == "unknown_role"


def test_roles_are_granted_and_revoked_on_the_page(
    client: Client, cast: BenchmarkCast, vault: Benchmark
) -> None:
    client.force_login(cast.olga)
    address = reverse("board-people", args=["vault"])
    client.post(address, {"username": "kim", "role": "organiser"})
    assert roles.role_in(vault, cast.kim) == "organiser"
    assert [message.level_tag for message in client.get(address).context["messages"]] == ["info"]
    client.post(address, {"remove": vault.people.get(user=cast.kim).pk})
    assert roles.role_in(vault, cast.kim) is None


def test_an_organiser_is_added_where_it_says_that_they_learn_all_gold(
    client: Client, cast: BenchmarkCast
) -> None:
    gold = {"s1": "born_in", "s2": "N/A"}
    hidden = hidden_phase(cast, gold)
    scored(cast, hidden, dict.fromkeys(gold, "works_for"))
    client.force_login(cast.olga)
    page = client.get(reverse("board-people", args=["hid"])).content.decode()
    assert "they can learn all labels of its" in page
    roles.set_person(hidden, user=cast.lars, role="organiser", by=cast.olga)
    client.force_login(cast.lars)
    errors = client.get(reverse("api-errors", args=["hid"]), {"a": "kelpie/Net"}).json()["rows"]
    labels = {row["id"]: row["gold"][0]["label"] if row["gold"] else "N/A" for row in errors}
    assert labels == gold
    assert not TestSet.objects.usable_by(cast.lars).exists()


def test_a_role_is_given_where_it_says_that_nobody_is_asked(client: Client, cast: BenchmarkCast) -> None:
    hidden_phase(cast, {"s1": "born_in", "s2": "N/A"})
    client.force_login(cast.olga)
    address = reverse("board-people", args=["hid"])
    assert "The person is not asked to accept." in client.get(address).content.decode()
    User.objects.filter(pk=cast.lars.pk).update(first_name="Lars", last_name="Larsen")
    page = client.post(address, {"username": "lars", "role": "viewer"}, follow=True).content.decode()
    assert "Lars Larsen" in page
    reply = client.post(address, {"username": "nobody", "role": "viewer"})
    assert "nobody" in str(reply.context["form"].errors)


def test_an_unknown_user_is_reported_at_the_field(
    client: Client, cast: BenchmarkCast, vault: Benchmark
) -> None:
    client.force_login(cast.olga)
    response = client.post(reverse("board-people", args=["vault"]), {"username": "Kim", "role": "viewer"})
    assert response.status_code == 400
    assert "Kim" in response.context["form"].errors["username"][0]


def test_removing_the_last_organiser_is_rejected_on_the_page(
    client: Client, cast: BenchmarkCast, vault: Benchmark
) -> None:
    client.force_login(cast.olga)
    address = reverse("board-people", args=["vault"])
    response = client.post(address, {"remove": vault.people.get(user=cast.olga).pk}, follow=True)
    assert response.redirect_chain == [(address, 302)]
    (message,) = response.context["messages"]
    assert message.level_tag == "warning"
    assert "olga" in message.message
    assert vault.people.filter(user=cast.olga).exists()


def test_a_person_of_another_board_is_not_removed_through_this_one(
    client: Client, cast: BenchmarkCast, vault: Benchmark
) -> None:
    other = cast.benchmark("other")
    row = other.people.get(user=cast.olga)
    client.force_login(cast.olga)
    assert client.post(reverse("board-people", args=["vault"]), {"remove": row.pk}).status_code == 404
    assert other.people.filter(pk=row.pk).exists()


def test_a_team_sees_its_remaining_quotas(client: Client, cast: BenchmarkCast) -> None:
    board = cast.benchmark("tides", title="Tides")
    Benchmark.objects.filter(pk=board.pk).update(per_day=5)
    client.force_login(cast.kim)
    page = client.get(reverse("team", args=["kelpie"])).content.decode()
    assert "5 of 5 left" in page
    assert "00:00" in page
