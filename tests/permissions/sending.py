"""What stands at each address with a name in it, and a body that each writing route takes."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from annotation.testset import TestSet
from evalsvc.core.accounts.models import Identity, Invitation
from evalsvc.core.accounts.tokens import digest
from tests.cast import Cast, jsonl, scores, sentence

LINK = "canary-link"
Told = dict[str, Any]


def harbour(cast: Cast) -> Told:
    return {"slug": cast.harbour.slug}


def release(cast: Cast) -> Told:
    return {"slug": cast.release.slug}


def source(cast: Cast) -> Told:
    return {"slug": TestSet.objects.get(twin=cast.release).slug}


def gold(cast: Cast) -> Told:
    return {"slug": cast.gold.slug}


def tides(cast: Cast) -> Told:
    return {"slug": cast.tides.slug}


def main_of_tides(cast: Cast) -> Told:
    return tides(cast) | {"key": "main"}


def vault(cast: Cast) -> Told:
    return {"slug": cast.vault.slug}


def scored(cast: Cast) -> Told:
    return {"pk": cast.scored.pk}


def waiting(cast: Cast) -> Told:
    return {"pk": cast.waiting.pk}


def disputed(cast: Cast) -> Told:
    return {"id": str(cast.item(3).key)}


def leased(cast: Cast) -> Told:
    return {"pk": cast.lease.pk}


def kelpie(cast: Cast) -> Told:
    return {"slug": cast.kelpie.slug}


def link(cast: Cast) -> Told:
    """An invitation into Kelpie; whoever has the link learns who made it and where it leads."""
    invitation(cast)
    return {"secret": LINK}


def invitation(cast: Cast) -> Invitation:
    made = {"place": "team", "subject": cast.kelpie.pk, "role": "member", "by": cast["root"]}
    made |= {"expires_at": timezone.now() + timedelta(days=1)}
    return Invitation.objects.get_or_create(digest=digest(LINK), defaults=made)[0]


def identity(cast: Cast) -> Identity:
    told = {"issuer": "https://id.example.org", "subject": "kim"}
    return Identity.objects.get_or_create(user=cast["kim"], **told)[0]


ADDRESSES: dict[str, Callable[[Cast], Told]] = {
    **dict.fromkeys(
        (
            "label",
            "project",
            "project-import",
            "ontology",
            "project-members",
            "project-guideline",
            "project-quality",
            "disputes",
            "freeze",
        ),
        harbour,
    ),
    **dict.fromkeys(
        ("agreement", "agreement-svg", "agreement-pairs", "agreement-relations", "judgments"), harbour
    ),
    **dict.fromkeys(
        ("progress", "progress-days-svg", "progress-days-csv", "progress-people-csv", "otherwise"), harbour
    ),
    **dict.fromkeys(("progress-labels-csv", "mine", "mine-svg", "mine-csv"), harbour),
    "annotator": lambda cast: harbour(cast) | {"pk": cast.lease.annotator_id},
    **dict.fromkeys(
        ("ontology-label", "api-ontology-label"),
        lambda cast: harbour(cast) | {"pk": cast.harbour.labels.earliest("rank").pk},
    ),
    "api-ontology": harbour,
    "dispute": lambda cast: harbour(cast) | {"key": cast.item(3).key},
    "import": lambda cast: {"pk": cast.batch.pk},
    "import:gold": lambda cast: {"pk": cast.gold_batch.pk},
    **dict.fromkeys(("test-set", "test-set-lines"), release),
    **dict.fromkeys(("test-set:twin", "test-set-lines:twin"), source),
    **dict.fromkeys(("test-set:gold", "test-set-lines:gold"), gold),
    **dict.fromkeys(("board", "board-csv", "board-ranks", "board-people", "setting-new", "submit"), tides),
    **dict.fromkeys(("board-json", "board-organise", "board-change"), tides),
    **dict.fromkeys(
        ("board:hidden", "board-csv:hidden", "board-ranks:hidden", "setting-new:hidden", "submit:hidden"),
        vault,
    ),
    **dict.fromkeys(("board-json:hidden", "board-organise:hidden", "board-change:hidden"), vault),
    **dict.fromkeys(("setting", "setting-inputs", "setting-change", "setting-revise"), main_of_tides),
    **dict.fromkeys(
        ("setting:hidden", "setting-inputs:hidden", "setting-change:hidden", "setting-revise:hidden"),
        lambda cast: vault(cast) | {"key": "main"},
    ),
    **dict.fromkeys(
        ("submission", "submission-withdraw", "submission-curve-svg", "submission-curve-csv"), scored
    ),
    **dict.fromkeys(("submission-state", "submission-cancel"), waiting),
    "board-people:hidden": vault,
    **dict.fromkeys(("join", "join-accept"), link),
    "password-reset-confirm": lambda cast: {"uidb64": "MQ", "token": "made-up"},
    **dict.fromkeys(("account-token-revoke", "token"), lambda cast: {"pk": cast.token.pk}),
    "account-disconnect": lambda cast: {"pk": identity(cast).pk},
    **dict.fromkeys(("invitation-revoke", "invitation"), lambda cast: {"pk": invitation(cast).pk}),
    "team-member-remove": lambda cast: kelpie(cast) | {"pk": cast.kelpie.members.get(user=cast["mia"]).pk},
    **dict.fromkeys(("team", "team-members", "token-new"), kelpie),
    "token-revoke": lambda cast: kelpie(cast) | {"pk": cast.token.pk},
    **dict.fromkeys(
        (*("api-project", "api-imports", "api-freeze", "api-lease", "api-history", "api-disputes"),),
        harbour,
    ),
    **dict.fromkeys(("api-reserve", "api-insight", "api-quality", "api-agreement", "api-judgments"), harbour),
    **dict.fromkeys(
        [f"api-annotator-{act}" for act in ("pause", "resume", "set-aside", "put-back")],
        lambda cast: {"pk": cast.lease.annotator_id},
    ),
    "api-take-back": lambda cast: {"id": str(cast.item(2).key)},
    "api-import": lambda cast: {"pk": cast.batch.pk},
    "api-import:gold": lambda cast: {"pk": cast.gold_batch.pk},
    **dict.fromkeys(("api-test-set", "api-test-set-lines"), release),
    **dict.fromkeys(("api-test-set:twin", "api-test-set-lines:twin"), source),
    **dict.fromkeys(("api-test-set:gold", "api-test-set-lines:gold"), gold),
    **dict.fromkeys(("api-lease-heartbeat", "api-lease-return"), leased),
    **dict.fromkeys(("api-answer", "api-skip"), lambda cast: {"id": str(cast.lease.item.key)}),
    **dict.fromkeys(("api-dispute", "api-decision", "api-one-more"), disputed),
    **dict.fromkeys(
        ("api-benchmark", "api-settings", "api-board", "api-submissions", "api-check", "api-models"), tides
    ),
    "api-benchmark-limits": tides,
    **dict.fromkeys(
        ("api-setting", "api-versions", "api-inputs"), lambda cast: tides(cast) | {"key": "main"}
    ),
    "api-settings:foreign": tides,
    "setting-new:foreign": tides,
    **dict.fromkeys(
        [
            f"api-{name}:hidden"
            for name in ("benchmark", "settings", "board", "submissions", "check", "models")
        ],
        vault,
    ),
    **dict.fromkeys(("api-submission", "api-scores", "api-submission-withdraw"), scored),
    "api-submission-cancel": waiting,
}


def file(content: bytes, name: str = "lines.jsonl") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content, content_type="application/x-ndjson")


def sentences() -> bytes:
    return jsonl([sentence(20)])


def published() -> bytes:
    return jsonl([sentence(1, relations=["born_in"])])


def board(cast: Cast) -> Told:
    return {"title": "New", "slug": "new-one", "task": "relations", "missing": "refuse", "negative": "NA"} | {
        "test_sets": [cast.gold.pk]
    }


def setting(cast: Cast) -> Told:
    return {"title": "More", "key": "more", "unit": "sentence", "main": "macro_f1", "test_set": cast.gold.pk}


def decision(cast: Cast) -> Told:
    said = {"spans": [], "relations": ["died_in"]}
    return {"client_id": str(uuid4()), "votes_key": cast.item(3).votes_key, "choice": json.dumps(said)}


FORMS: dict[str, Callable[[Cast], Told]] = {
    "login": lambda cast: {"username": "sam", "password": "harbour-lamp-7"},
    "join": lambda cast: (
        {"username": "nora", "email": "nora@example.org"}
        | dict.fromkeys(("password1", "password2"), "seven-lamps-at-sea")
    ),
    "password-reset": lambda cast: {"email": "sam@example.org"},
    "password-reset-confirm": lambda cast: dict.fromkeys(("new_password1", "new_password2"), "lamp-lamp-7"),
    "account": lambda cast: {"change": "person", "first_name": "Other"},
    "account-token-new": lambda cast: {"name": "laptop", "scope": "read", "days": "30"},
    "people": lambda cast: {"change": "organiser", "person": cast["sam"].pk},
    "invitation-new": lambda cast: (
        {"place": "team", "subject": cast.kelpie.pk} | {"role": "member", "days": "7"}
    ),
    "board-people": lambda cast: {"username": "sam", "role": "viewer"},
    "team-new": lambda cast: {"name": "Narwhal"},
    "team-members": lambda cast: {"username": "sam", "role": "member"},
    "token-new": lambda cast: {"name": "laptop", "scope": "submit", "days": "30"},
    "project-new": lambda cast: {"title": "New", "kind": "relations", "k": "2", "policy": "majority"},
    "project": lambda cast: {"action": "close"},
    "project-import": lambda cast: {"what": "items", "upload": file(sentences())},
    "ontology": lambda cast: {"action": "labels", "labels": "worked_in"},
    "ontology-label": lambda cast: {"title": "place of death", "definition": "Died there."},
    "project-guideline": lambda cast: {"guideline": "Read it.", "na_means": "none of these"},
    "project-quality": lambda cast: (
        {"action": "settings", "pass_percent": 70, "check_every": 5} | {"least_checks": 5, "most_extra": 3}
    ),
    "annotator": lambda cast: {"action": "pause", "reason": "To look at the answers."},
    "project-members": lambda cast: {"user": "sam", "role": "viewer"},
    "dispute": decision,
    "freeze": lambda cast: {"name": "Harbour", "version": "2.0", "leave_out": "on"},
    "test-set-import": lambda cast: (
        {"name": "New", "version": "1", "kind": "relations"} | {"upload": file(published())}
    ),
    "board-new": board,
    "setting-new": setting,
    "board-change": lambda cast: {"title": "Tides", "public": "on"},
    "setting-change": lambda cast: {"title": "Sentences", "main": "macro_f1"},
    "setting-revise": lambda cast: {"test_set": cast.gold.pk},
    "setting-new:foreign": lambda cast: setting(cast) | {"test_set": cast.release.pk},
    "submit": lambda cast: {"file": file(scores(0.3)), "system": "Other net", "run": "1", "team": "kelpie"},
}


def act() -> Told:
    return {"client_id": str(uuid4()), "base": 0}


BODIES: dict[str, Callable[[Cast], Told]] = {
    "api-benchmark": lambda cast: {"per_day": 7},
    "api-setting": lambda cast: {"digits": 2},
    "api-versions": lambda cast: {"test_set": cast.gold.slug},
    "api-projects": lambda cast: {"title": "New", "kind": "relations"},
    "api-freeze": lambda cast: {"name": "Harbour", "version": "2.0", "leave_out": True},
    "api-lease": lambda cast: {"holding": []},
    "api-reserve": lambda cast: {"holding": [], "n": 2},
    "api-quality": lambda cast: {"check_every": 5},
    "api-ontology-label": lambda cast: {"phrase": "was born in", "choose": ["Ada was born in Turin."]},
    "api-answer": lambda cast: act() | {"payload": {"spans": [], "relations": ["born_in"]}},
    "api-skip": lambda cast: act() | {"reason": "broken"},
    "api-decision": lambda cast: decision(cast) | {"payload": {"spans": [], "relations": ["died_in"]}},
    "api-benchmarks": lambda cast: (
        {"slug": "new", "title": "New", "task": "relations"} | {"labels": [{"name": "born_in"}]}
    ),
    "api-settings": lambda cast: setting(cast) | {"test_set": cast.gold.slug},
    "api-settings:foreign": lambda cast: setting(cast) | {"test_set": cast.release.slug},
}
UPLOADS: dict[str, Callable[[Cast], Told]] = {
    "api-imports": lambda cast: {"file": file(sentences()), "what": "items"},
    "api-test-sets": lambda cast: {"file": file(published()), "name": "New", "version": "1"},
    "api-submissions": lambda cast: FORMS["submit"](cast),
    "api-models": lambda cast: FORMS["submit"](cast),
    "api-check": lambda cast: {"file": file(scores(0.3))},
}


def body(row: str, cast: Cast) -> Told:
    """What the test client is told to send."""
    name = row.partition(":")[0]
    if name in UPLOADS:
        return {"data": UPLOADS[name](cast)}
    if name.startswith("api-"):
        make = BODIES.get(row) or BODIES.get(name)
        return {"data": make(cast) if make else {}, "content_type": "application/json"}
    fill = FORMS.get(row) or FORMS.get(name)
    return {"data": fill(cast) if fill else {}}
