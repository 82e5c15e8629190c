"""The guide to remove a person leaves no name of theirs."""

from __future__ import annotations

from pathlib import Path

from django.apps import apps
from django.core.serializers import serialize

from evalsvc.core.accounts import invitations, tokens, users
from evalsvc.core.accounts.models import Identity, Invitation, User

ROOT = Path(__file__).resolve().parents[4]


def test_the_guide_to_remove_a_person_leaves_no_name_address_or_identity_of_theirs(db: None) -> None:
    ann = User.objects.create_user("ann", email="ann.quist@example.org", first_name="Ann", last_name="Quist")
    kim = User.objects.create_superuser("kim")
    Identity.objects.create(user=ann, issuer="https://id.example.org", subject="ann-quist-77")
    tokens.issue(ann, name="laptop of Ann Quist")
    for note in ("Ann.Quist@example.org", "Ann Quist", "ann", "Joanna"):
        invitations.invite(users.INVITATION_TARGET, users.Installation(), role="person", by=kim, note=note)
    guide = (ROOT / "docs" / "operations.md").read_text().partition("## Remove a person")[2]
    exec(guide.partition("```python\n")[2].partition("```")[0], {})
    left = serialize("json", [row for model in apps.get_models() for row in model._default_manager.all()])
    assert "quist" not in left.lower()
    assert not User.objects.filter(username="ann").exists()
    assert [record.note for record in Invitation.objects.all()] == ["Joanna"]
