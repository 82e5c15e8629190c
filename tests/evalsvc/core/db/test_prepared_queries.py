"""Queries composed once find, change and write what the ORM would, on either database."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models import CharField, F, IntegerField, Value
from django.db.models.functions import Concat
from django.test.utils import CaptureQueriesContext

from evalsvc.core.accounts.models import ApiToken, Team, User
from evalsvc.core.db.prepared_queries import Given, Prepared, PreparedInsert, PreparedUpdate, columns
from tests.places.postgres import default_is, empty

NAMED = Prepared(
    lambda: (
        ApiToken.objects.select_related("user", "team")
        .annotate(shouted=Concat(F("name"), Value("! 100 %"), output_field=CharField()))
        .filter(name=Given("name", CharField()))
        .order_by("pk")
    )
)
RENAME = PreparedUpdate(
    lambda: Team.objects.filter(pk=Given("pk", IntegerField()), slug="kelpie"), **columns(Team, "name")
)
ISSUE = PreparedInsert(
    ApiToken,
    returning=("created_at",),
    scope="read",
    **columns(ApiToken, "user_id", "team_id", "name", "prefix", "digest", "created_at"),
)


def check() -> None:
    """The same calls for both databases."""
    from django.utils import timezone

    user = User.objects.create_user("ada")
    team = Team.objects.create(name="Kelpie", slug="kelpie")
    now = timezone.now()
    for digest, of in (("x", team.pk), ("y", None)):
        given = {"user_id": user.pk, "team_id": of, "name": "100 %s", "prefix": "", "created_at": now}
        made = ISSUE(digest=digest, **given)
        assert ApiToken.objects.get(pk=made.pk) == made
        assert (made.created_at, made.scope, made.user) == (now, "read", user)
    by_orm = list(ApiToken.objects.filter(name="100 %s").order_by("pk"))
    found = NAMED.all(name="100 %s")
    assert found == by_orm
    with CaptureQueriesContext(connection) as asked:
        assert [(one.user, one.team, one.shouted) for one in found] == [
            (user, team, "100 %s! 100 %"),
            (user, None, "100 %s! 100 %"),
        ]
    assert not asked.captured_queries
    assert NAMED.first(name="nobody's") is None
    assert [RENAME(pk=team.pk, name="Selkie"), RENAME(pk=team.pk + 1, name="Nixie")] == [1, 0]
    assert list(Team.objects.values_list("name", flat=True)) == ["Selkie"]
    with pytest.raises(IntegrityError), transaction.atomic():
        ISSUE(digest="x", **given)
    with CaptureQueriesContext(connection) as asked:
        for _ in range(4):  # from the third on the server has it prepared
            assert NAMED.all(name="100 %s") == by_orm
    assert len(asked.captured_queries) == 4


@pytest.mark.django_db
def test_on_sqlite() -> None:
    check()


@pytest.mark.postgres
@pytest.mark.parametrize("threshold", [None, 2])
def test_on_postgresql_prepared_by_the_server_or_not(postgres: dict[str, Any], threshold: int | None) -> None:
    options = postgres.get("OPTIONS", {}) | {"prepare_threshold": threshold}
    with default_is(postgres | {"OPTIONS": options}):
        try:
            check()
            with connection.cursor() as cursor:
                cursor.execute(
                    "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%%shouted%%'"
                )
                assert cursor.fetchone()[0] == (0 if threshold is None else 1)
        finally:
            empty()
