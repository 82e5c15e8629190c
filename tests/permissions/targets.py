"""The objects behind each address, and a valid body for each route that writes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

from django.apps import apps
from django.contrib.admin.models import CHANGE
from django.contrib.admin.models import LogEntry as Correction
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from annotation.api.lease_numbers import number_of
from annotation.models.release import Download, Publication
from annotation.testset import TestSet
from evalsvc.core.accounts.models import Identity, Invitation, User
from evalsvc.core.accounts.tokens import digest
from evalsvc.core.jobs.models import Worker
from evalsvc.evaluation.benchmarks import announcements, contributed, saved_views, versions
from evalsvc.evaluation.models import Announcement, Benchmark, Entrant, ModelHost, ReportedSystem, Setting
from evalsvc.evaluation.reported import entries
from tests.cast.basics import PASSWORD, jsonl
from tests.cast.service import ServiceCast, canary_sentence, predicted_scores
from tests.permissions.pages import RECORDS

LINK = "canary-link"
Fields = dict[str, Any]


def harbour(cast: ServiceCast) -> Fields:
    return {"slug": cast.harbour.slug}


def test_set(cast: ServiceCast) -> Fields:
    return {"slug": cast.test_set.slug}


def source_set(cast: ServiceCast) -> Fields:
    return {"slug": TestSet.objects.get(twin=cast.test_set).slug}


def gold(cast: ServiceCast) -> Fields:
    return {"slug": cast.gold.slug}


def exported(found: Callable[[ServiceCast], Fields]) -> Callable[[ServiceCast], Fields]:
    """The same set in a format of another tool."""
    return lambda cast: found(cast) | {"key": "label-studio"}


def tides(cast: ServiceCast) -> Fields:
    return {"slug": cast.tides.slug}


def main_of_tides(cast: ServiceCast) -> Fields:
    return tides(cast) | {"key": "main"}


def vault(cast: ServiceCast) -> Fields:
    return {"slug": cast.vault.slug}


def record(label: str) -> Callable[[ServiceCast], Fields]:
    """The newest record of a kind; one is made of the kinds that the cast lacks."""

    def newest(cast: ServiceCast) -> Fields:
        model, by = apps.get_model(label.replace("_", ".")), cast["root"]
        if label in MADE and not model.objects.exists():
            MADE[label](cast, by)
        return {"object_id": str(model.objects.order_by("pk").last().pk)}

    return newest


MADE: dict[str, Callable[[ServiceCast, User], object]] = {
    "teams_identity": lambda cast, by: identity(cast),
    "teams_invitation": lambda cast, by: invitation(cast),
    "jobs_worker": lambda cast, by: Worker.objects.create(name="pilot", queue="score"),
    "evaluation_modelhost": lambda cast, by: ModelHost.objects.create(name="pilot"),
    "evaluation_entrant": lambda cast, by: entered(cast),
    "annotation_download": lambda cast, by: Download.objects.create(
        test_set=cast.gold, user=by, what="lines"
    ),
    "admin_logentry": lambda cast, by: Correction.objects.log_actions(
        by.pk, [by], CHANGE, "", single_object=True
    ),
    "annotation_publication": lambda cast, by: Publication.objects.create(
        test_set=cast.gold, access="anybody", with_gold=False, by=by
    ),
}


TAKING_PART = (
    *("board-take-part", "board-entrants", "board-entrants-csv", "board-runs", "board-runs-csv"),
    *("board-announcements", "board-archive"),
)
SAVED_VIEW = ("board-saved-view", "api-saved-view", "api-saved-view-remove")
API_TAKING_PART = ("entry", "terms", "entrants", "announcements", "archive")


def entered(cast: ServiceCast) -> Entrant:
    return Entrant.objects.get_or_create(
        benchmark=cast.tides, team=cast.kelpie, defaults={"by": cast["kim"]}
    )[0]


def announced(cast: ServiceCast) -> Announcement:
    return cast.tides.announcements.first() or announcements.announce(
        cast.tides, title="News", by=cast["olga"]
    )


def saved_view(benchmark: Benchmark, cast: ServiceCast) -> Fields:
    """A view for everybody who sees a board."""
    shared = benchmark.saved_views.filter(shared=True).first()
    view = shared or saved_views.save(benchmark, title="All", query="", by=cast["olga"], shared=True)
    return {"slug": benchmark.slug, "pk": view.pk}


def reported(cast: ServiceCast) -> ReportedSystem:
    """A system that a paper reports on the board of tides."""
    setting = cast.tides.settings.get(key="main")
    if row := setting.reported.first():
        return row
    printed = {"Printed net": {"micro_f1": "70.0"}}
    return entries.add(setting, by=cast["olga"], paper="A paper", table="Table 1", systems=printed)[0]


def proposed(cast: ServiceCast) -> Fields:
    """A measure that waits for the organisers of tides."""
    waiting = cast.tides.measures.filter(state="proposed").first()
    measure = waiting or contributed.propose(cast.tides, by=cast["olga"], **own_measure(beta=3))
    return {"name": measure.name, "version": measure.version}


def admitted(cast: ServiceCast) -> Fields:
    """A measure on the boards of tides."""
    measure = cast.tides.measures.filter(state="admitted").first()
    if measure is None:
        measure = contributed.propose(cast.tides, by=cast["olga"], **own_measure(beta=5))
        cast.tides.measures.filter(pk=measure.pk).update(state="admitted", complete=True)
    return {"name": measure.name, "version": measure.version}


def own_measure(beta: int = 2) -> Fields:
    return {"name": f"own-{beta}", "title": "Own F", "composition": {"base": "classification", "beta": beta}}


def system_of_kelpie(cast: ServiceCast) -> Fields:
    return tides(cast) | {"pk": cast.scored.system_id}


def revised(benchmark: Benchmark) -> Fields:
    """The second version of a board, as a new scorer begins it."""
    setting = benchmark.settings.get(key="main")
    if setting.version == 1:
        versions.begin(setting, by=None, note=versions.SCORER_CHANGED)
    return {"slug": benchmark.slug, "key": "main", "number": 2}


def scored(cast: ServiceCast) -> Fields:
    return {"pk": cast.scored.pk}


def final(cast: ServiceCast) -> Fields:
    """A scored run on a board that shows final runs."""
    Setting.objects.filter(evaluations__submissions=cast.scored).update(row_rule="final")
    return scored(cast)


def queued(cast: ServiceCast) -> Fields:
    return {"pk": cast.queued.pk}


def disputed(cast: ServiceCast) -> Fields:
    return {"id": str(cast.item(3).key)}


def leased(cast: ServiceCast) -> Fields:
    return {"pk": number_of(cast.lease.pk)}


def kelpie(cast: ServiceCast) -> Fields:
    return {"slug": cast.kelpie.slug}


def link(cast: ServiceCast) -> Fields:
    """An invitation into Kelpie; its page shows the inviter and the team."""
    invitation(cast)
    return {"secret": LINK}


def invitation(cast: ServiceCast) -> Invitation:
    fields = {"place": "team", "subject": cast.kelpie.pk, "role": "member", "by": cast["root"]}
    fields |= {"expires_at": timezone.now() + timedelta(days=1)}
    return Invitation.objects.get_or_create(digest=digest(LINK), defaults=fields)[0]


def identity(cast: ServiceCast) -> Identity:
    connection = {"issuer": "https://id.example.org", "subject": "kim"}
    return Identity.objects.get_or_create(user=cast["kim"], **connection)[0]


ADDRESSES: dict[str, Callable[[ServiceCast], Fields]] = {
    **{f"admin-{label}_change": record(label) for label in RECORDS.split()},
    "admin-app_list": lambda cast: {"app_label": "jobs"},
    **dict.fromkeys(
        (
            "label",
            "project",
            "project-import",
            "ontology",
            "ontology-order",
            "ontology-plan",
            "ontology-versions",
            "project-members",
            "candidates",
            "project-guideline",
            "project-quality",
            "project-log",
            "project-log-csv",
            "second-readings",
            "disputes",
            "disputes-bulk",
            "disputes-bulk-undo",
            "comments",
            "sentences",
            "sentences-csv",
            "sentences-selected",
            "freeze",
        ),
        harbour,
    ),
    **dict.fromkeys(
        (
            "agreement",
            "agreement-svg",
            "agreement-pairs",
            "agreement-relations",
            "judgments",
            "votes-jsonl",
            "votes-csv",
        ),
        harbour,
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
    "sentence": lambda cast: harbour(cast) | {"key": cast.item(3).key},
    "second-reading": lambda cast: harbour(cast) | {"key": cast.item(3).key},
    "dispute": lambda cast: harbour(cast) | {"key": cast.item(3).key},
    "import": lambda cast: {"pk": cast.batch.pk},
    "import:gold": lambda cast: {"pk": cast.gold_batch.pk},
    **dict.fromkeys(
        ("test-set", "test-set-lines", "test-set-release", "test-set-card", "test-set-changes"), test_set
    ),
    **dict.fromkeys(("test-set-publish", "release", "release-file"), test_set),
    **dict.fromkeys(
        ("test-set-release-part", "release-part"), lambda cast: test_set(cast) | {"name": "citation.bib"}
    ),
    **dict.fromkeys(
        ("test-set-chart", "release-chart"),
        lambda cast: test_set(cast) | {"name": "labels", "format": "svg"},
    ),
    **dict.fromkeys(("test-set-split", "test-set-leakage"), test_set),
    "test-set-mapping": gold,
    "test-set-companions": test_set,
    "test-set-sets-file": lambda cast: test_set(cast) | {"format": "csv"},
    **dict.fromkeys(("test-set:twin", "test-set-lines:twin"), source_set),
    **dict.fromkeys(("test-set:gold", "test-set-lines:gold", "test-set-release:gold"), gold),
    **dict.fromkeys(("test-set-export", "test-set-export-file"), test_set),
    **dict.fromkeys(("test-set-export:gold", "test-set-export-file:gold"), gold),
    **dict.fromkeys(("board", "board-csv", "board-ranks", "board-people", "setting-new", "submit"), tides),
    **dict.fromkeys(
        ("board-json", "board-organise", "board-ledger", "board-log", "board-change", "board-inputs"), tides
    ),
    "board-log-csv": tides,
    "docs-guide": lambda _: {"name": "boards"},
    "board-feed": tides,
    "board-feed:hidden": vault,
    "board-inputs:hidden": vault,
    "board-view-file": lambda cast: tides(cast) | {"format": "csv"},
    "board-view-file:hidden": lambda cast: vault(cast) | {"format": "csv"},
    "board-compare": tides,
    "board-measures": tides,
    "board-measures:hidden": vault,
    "board-compare:hidden": vault,
    "board-compare-file": lambda cast: tides(cast) | {"format": "csv"},
    "board-errors": tides,
    **dict.fromkeys(("api-board-view", "api-errors"), tides),
    **dict.fromkeys(("api-board-view:hidden", "api-errors:hidden"), vault),
    "api-system": system_of_kelpie,
    "api-system:hidden": lambda cast: system_of_kelpie(cast) | vault(cast),
    "board-errors:hidden": vault,
    "board-errors-file": lambda cast: tides(cast) | {"format": "csv"},
    "board-errors-file:hidden": lambda cast: vault(cast) | {"format": "csv"},
    "system": system_of_kelpie,
    "system:hidden": lambda cast: system_of_kelpie(cast) | vault(cast),
    "system-file": lambda cast: system_of_kelpie(cast) | {"format": "csv"},
    "system-file:hidden": lambda cast: system_of_kelpie(cast) | vault(cast) | {"format": "csv"},
    "board-compare-file:hidden": lambda cast: vault(cast) | {"format": "csv"},
    **dict.fromkeys(("api-compare", "api-compare-cancel"), tides),
    **dict.fromkeys(("api-compare:hidden", "api-compare-cancel:hidden"), vault),
    **dict.fromkeys(
        ("board:hidden", "board-csv:hidden", "board-ranks:hidden", "setting-new:hidden", "submit:hidden"),
        vault,
    ),
    **dict.fromkeys(
        (
            "board-json:hidden",
            "board-organise:hidden",
            "board-ledger:hidden",
            "board-log:hidden",
            "board-log-csv:hidden",
            "board-change:hidden",
        ),
        vault,
    ),
    **dict.fromkeys(("setting", "setting-inputs", "setting-change", "setting-revise"), main_of_tides),
    **dict.fromkeys(("setting-reported", "api-reported"), main_of_tides),
    **dict.fromkeys(("version-moves", "api-version-moves"), lambda cast: revised(cast.tides)),
    **dict.fromkeys(("version-moves:hidden", "api-version-moves:hidden"), lambda cast: revised(cast.vault)),
    "version-moves-file": lambda cast: revised(cast.tides) | {"format": "csv"},
    "version-moves-file:hidden": lambda cast: revised(cast.vault) | {"format": "csv"},
    **dict.fromkeys(
        ("setting-reported:hidden", "api-reported:hidden"), lambda cast: vault(cast) | {"key": "main"}
    ),
    **dict.fromkeys((*TAKING_PART, *(f"api-{name}" for name in API_TAKING_PART)), tides),
    **dict.fromkeys((*(f"{name}:hidden" for name in TAKING_PART),), vault),
    **dict.fromkeys((*(f"api-{name}:hidden" for name in API_TAKING_PART),), vault),
    **dict.fromkeys(("board-views", "api-saved-views"), tides),
    **dict.fromkeys(("board-views:hidden", "api-saved-views:hidden"), vault),
    **dict.fromkeys(SAVED_VIEW, lambda cast: saved_view(cast.tides, cast)),
    **dict.fromkeys((f"{name}:hidden" for name in SAVED_VIEW), lambda cast: saved_view(cast.vault, cast)),
    "api-entrant": lambda cast: tides(cast) | {"team": entered(cast).team.slug},
    "api-announcement-remove": lambda cast: tides(cast) | {"pk": announced(cast).pk},
    "api-benchmark-measures": tides,
    "api-benchmark-measures:hidden": vault,
    "api-benchmark-measure": lambda cast: tides(cast) | proposed(cast),
    "api-benchmark-measure-retire": lambda cast: tides(cast) | admitted(cast),
    "submission-final": final,
    "api-reported-remove": lambda cast: main_of_tides(cast) | {"pk": reported(cast).pk},
    **dict.fromkeys(
        ("setting:hidden", "setting-inputs:hidden", "setting-change:hidden", "setting-revise:hidden"),
        lambda cast: vault(cast) | {"key": "main"},
    ),
    **dict.fromkeys(
        (
            "submission",
            "submission-withdraw",
            "submission-retry",
            "submission-curve-svg",
            "submission-curve-csv",
            "submission-file",
        ),
        scored,
    ),
    **dict.fromkeys(("submission-state", "submission-cancel"), queued),
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
        (
            *(
                "api-project",
                "api-imports",
                "api-freeze",
                "api-ontology-steps",
                "api-candidates",
                "api-candidates-choice",
                "api-lease",
                "api-history",
                "api-disputes",
                "api-disputes-bulk",
                "api-disputes-undo",
                "api-comments",
            ),
        ),
        harbour,
    ),
    **dict.fromkeys(
        (
            "api-reserve",
            "api-insight",
            "api-quality",
            "api-agreement",
            "api-judgments",
            "api-votes",
            "api-votes-csv",
        ),
        harbour,
    ),
    **dict.fromkeys(("api-project-log", "api-members", "api-member-remove"), harbour),
    "api-ontology-versions": harbour,
    "api-ontology-version": lambda cast: harbour(cast) | {"number": 1},
    "api-guidelines": harbour,
    "api-second-readings": harbour,
    "api-guideline-again": lambda cast: harbour(cast) | {"number": 99},
    "api-items": harbour,
    "api-items-bulk": harbour,
    "api-items-csv": harbour,
    "api-project-effects": harbour,
    **dict.fromkeys(
        [f"api-annotator-{act}" for act in ("pause", "resume", "set-aside", "put-back")],
        lambda cast: {"pk": cast.lease.annotator_id},
    ),
    "api-ontology-plan-undo": lambda cast: harbour(cast) | {"plan": 99},
    "api-take-back": lambda cast: {"id": str(cast.item(2).key)},
    "api-import": lambda cast: {"pk": cast.batch.pk},
    "api-import:gold": lambda cast: {"pk": cast.gold_batch.pk},
    **dict.fromkeys(
        [f"api-import-{act}" for act in ("retry", "cancel", "undo")], lambda cast: {"pk": cast.batch.pk}
    ),
    **dict.fromkeys(
        [f"api-import-{act}:gold" for act in ("retry", "cancel", "undo")],
        lambda cast: {"pk": cast.gold_batch.pk},
    ),
    **dict.fromkeys(("api-test-set-retry", "api-test-set-cancel"), test_set),
    **dict.fromkeys(
        ("api-test-set", "api-test-set-lines", "api-test-set-releases", "api-test-set-release"), test_set
    ),
    **dict.fromkeys(("api-test-set-card", "api-test-set-changes"), test_set),
    **dict.fromkeys(("api-test-set-split", "api-test-set-leakage"), test_set),
    "api-test-set-mapping": gold,
    "api-test-set-companions": test_set,
    **dict.fromkeys(
        ("api-test-set-publish", "api-test-set-withdraw", "api-test-set-downloads", "api-test-set-log"),
        test_set,
    ),
    **dict.fromkeys(("api-release", "api-release-accept", "api-release-file"), test_set),
    **dict.fromkeys(("api-test-set-export", "api-test-set-losses"), exported(test_set)),
    **dict.fromkeys(("api-test-set-export:gold", "api-test-set-losses:gold"), exported(gold)),
    **dict.fromkeys(("api-test-set:twin", "api-test-set-lines:twin"), source_set),
    **dict.fromkeys(
        (
            "api-test-set:gold",
            "api-test-set-lines:gold",
            "api-test-set-releases:gold",
            "api-test-set-release:gold",
        ),
        gold,
    ),
    **dict.fromkeys(("api-lease-heartbeat", "api-lease-return"), leased),
    **dict.fromkeys(("api-answer", "api-skip"), lambda cast: {"id": str(cast.lease.item.key)}),
    **dict.fromkeys(("api-dispute", "api-decision", "api-one-more", "api-second-reading"), disputed),
    **dict.fromkeys(
        ("api-benchmark", "api-settings", "api-board", "api-submissions", "api-check", "api-models"), tides
    ),
    **dict.fromkeys(("api-benchmark-limits", "api-ledger", "api-benchmark-log", "api-old-names"), tides),
    **dict.fromkeys(
        ("api-setting", "api-versions", "api-inputs"), lambda cast: tides(cast) | {"key": "main"}
    ),
    "api-benchmark-inputs": tides,
    "api-benchmark-inputs:hidden": vault,
    "api-inputs:hidden": lambda cast: vault(cast) | {"key": "main"},
    "api-settings:foreign": tides,
    "setting-new:foreign": tides,
    **dict.fromkeys(
        [
            f"api-{name}:hidden"
            for name in (
                "benchmark",
                "settings",
                "board",
                "ledger",
                "benchmark-log",
                "old-names",
                "submissions",
                "check",
                "models",
            )
        ],
        vault,
    ),
    **dict.fromkeys(
        ("api-submission", "api-scores", "api-submission-withdraw", "api-submission-retry"), scored
    ),
    "api-submission-final": final,
    "api-submission-cancel": queued,
}


def two_systems(cast: ServiceCast) -> Fields:
    return {"systems": ["kelpie/Net of kelpie", "lugworm/Net of lugworm"]}


QUERIES: dict[str, Callable[[ServiceCast], Fields]] = {
    **dict.fromkeys(
        ("board-compare", "board-compare-file", "api-compare", "api-compare-cancel"), two_systems
    ),
    **dict.fromkeys(
        ("test-set-export", "test-set-export-file", "test-set-export:gold", "test-set-export-file:gold"),
        lambda _: {"format": "label-studio"},
    ),
    **dict.fromkeys(("test-set-changes", "api-test-set-changes"), lambda cast: {"since": cast.test_set.slug}),
}


SPLIT = {"parts": "dev=0.5,test=0.5", "seed": "split-1"}


def file(content: bytes, name: str = "lines.jsonl") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content, content_type="application/x-ndjson")


def sentences() -> bytes:
    return jsonl([canary_sentence(20)])


def published() -> bytes:
    return jsonl([canary_sentence(1, relations=["born_in"])])


def board(cast: ServiceCast) -> Fields:
    return {
        "title": "New one",
        "slug": "new-one",
        "task": "relations",
        "missing": "refuse",
        "negative": "NA",
    } | {"test_sets": [cast.gold.pk]}


def setting(cast: ServiceCast) -> Fields:
    return {"title": "More", "key": "more", "unit": "sentence", "main": "macro_f1", "test_set": cast.gold.pk}


def decision(cast: ServiceCast) -> Fields:
    return {"client_id": str(uuid4()), "votes_key": cast.item(3).votes_key}


FORMS: dict[str, Callable[[ServiceCast], Fields]] = {
    "admin-teams_user_change": lambda cast: {"first_name": "Corrected", "_save": "Save"},
    "login": lambda cast: {"username": "sam", "password": PASSWORD},
    "join": lambda cast: (
        {"username": "nora", "email": "nora@example.org"}
        | dict.fromkeys(("password1", "password2"), "seven-lamps-at-sea")
    ),
    "password-reset": lambda cast: {"email": "sam@example.org"},
    "password-reset-confirm": lambda cast: dict.fromkeys(("new_password1", "new_password2"), "lamp-lamp-7"),
    "account": lambda cast: {"change": "person", "first_name": "Other"},
    "account-token-new": lambda cast: {"name": "laptop", "scope": "read", "days": "30", "password": PASSWORD},
    "people": lambda cast: {"change": "organiser", "person": cast["sam"].pk},
    "invitation-new": lambda cast: (
        {"place": "team", "subject": cast.kelpie.pk} | {"role": "member", "days": "7"}
    ),
    "board-people": lambda cast: {"username": "sam", "role": "viewer"},
    "team-new": lambda cast: {"name": "Narwhal"},
    "team-members": lambda cast: {"username": "mia", "role": "member"},
    "token-new": lambda cast: {"name": "laptop", "scope": "submit", "days": "30", "password": PASSWORD},
    "project-new": lambda cast: {"title": "New one", "kind": "relations", "k": "2", "policy": "majority"},
    "project": lambda cast: {"action": "close"},
    "project-import": lambda cast: {"what": "items", "upload": file(sentences())},
    "ontology": lambda cast: {"action": "labels", "labels": "worked_in"},
    "ontology-order": lambda cast: {"part": "relation"},
    "second-readings": lambda cast: {"n": 1, "seed": "x"},
    "ontology-versions": lambda cast: {"action": "show", "before": 1, "after": 1},
    "ontology-plan": lambda cast: {"action": "add", "operation": "add", "target": "worked_in"},
    "ontology-label": lambda cast: {"title": "place of death", "definition": "Died there."},
    "project-guideline": lambda cast: {"guideline": "Read it.", "na_means": "none of these"},
    "project-quality": lambda cast: (
        {"action": "settings", "pass_percent": 70, "check_every": 5} | {"least_checks": 5, "most_extra": 3}
    ),
    "sentence": lambda cast: {"action": "exclude", "finding": "broken"},
    "sentences-selected": lambda cast: {"action": "exclude", "item": str(cast.item(3).key)},
    "annotator": lambda cast: {"action": "pause", "reason": "To look at the answers."},
    "project-members": lambda cast: {"user": "sam", "role": "viewer"},
    "second-reading": lambda cast: {"choice": json.dumps({"spans": [], "relations": ["died_in"]})},
    "dispute": lambda cast: decision(cast) | {"choice": json.dumps({"spans": [], "relations": ["died_in"]})},
    "candidates": lambda cast: {"random": 1, "seed": "s", "action": "choose"},
    "freeze": lambda cast: {"name": "Harbour", "version": "2.0", "leave_out": "on"},
    "test-set": lambda cast: {"username": "olga"},
    "test-set-split": lambda cast: SPLIT | {"keep_together": "neither", "action": "make"},
    "test-set-leakage": lambda cast: {"file": file(sentences())},
    "disputes-bulk": lambda cast: {"answer": "na", "action": "preview"},
    "disputes-bulk-undo": lambda cast: {"bulk": str(uuid4())},
    "test-set-companions": lambda cast: {"other": cast.test_set.slug, "role": "training"},
    "test-set-mapping": lambda cast: {"name": "Mapped", "version": "1", "new_0": "other", "action": "make"},
    "test-set-publish": lambda cast: {"access": "named", "usernames": "vera"},
    "test-set-export": lambda _: {"format": "label-studio"},
    "release": lambda cast: {"terms": hashlib.sha256().hexdigest()},
    "release-check": lambda cast: {"copies": file(b"{}", "gold.jsonl")},
    "test-set-card": lambda cast: {"words": "From three papers.", "languages": "en"},
    "test-set-import": lambda cast: (
        {"name": "New", "version": "1", "kind": "relations"} | {"upload": file(published())}
    ),
    "board-new": board,
    "setting-new": setting,
    "board-change": lambda cast: {"title": "Tides", "public": "on"},
    "setting-change": lambda cast: {"title": "Sentences", "main": "macro_f1"},
    "setting-revise": lambda cast: {"test_set": cast.gold.pk},
    "board-measures": lambda cast: {
        "action": "counts",
        "title": "Own F",
        "name": f"own-{uuid4().hex[:8]}",
        "base": "classification",
        "figure": "f1",
        "scheme": "macro",
        "beta": str(2 + uuid4().int % 10**6),
    },
    "board-take-part": lambda cast: {"team": "kelpie"},
    "board-views": lambda cast: {"action": "save", "title": uuid4().hex, "query": "order=micro_f1"},
    "board-announcements": lambda cast: {"action": "announce", "title": "More news"},
    "board-entrants": lambda cast: {"action": "terms", "text": ""},
    "setting-reported": lambda cast: {"paper": "New", "table": "1", "systems": "system\tmicro_f1\nNet\t70.0"},
    "setting-new:foreign": lambda cast: setting(cast) | {"test_set": cast.test_set.pk},
    "submit": lambda cast: {
        "file": file(predicted_scores(0.3)),
        "system": "Other net",
        "run": "1",
        "team": "kelpie",
    },
}


def vote() -> Fields:
    return {"client_id": str(uuid4()), "base": 0}


BODIES: dict[str, Callable[[ServiceCast], Fields]] = {
    "api-candidates-choice": lambda cast: {"choice": 0, "action": "apply"},
    "api-benchmark": lambda cast: {"per_day": 7},
    "api-old-names": lambda cast: {"mapped": True},
    "api-setting": lambda cast: {"digits": 2},
    "api-entry": lambda cast: {"team": "kelpie"},
    "api-terms": lambda cast: {"text": ""},
    "api-entrant": lambda cast: {"approve": True},
    "api-saved-views": lambda cast: {"title": uuid4().hex, "query": "order=micro_f1"},
    "api-saved-view": lambda cast: {"title": uuid4().hex},
    "api-announcements": lambda cast: {"title": "More news"},
    "api-reported": lambda cast: {"paper": "New", "table": "1", "systems": {"Net": {"micro_f1": "70.0"}}},
    "api-benchmark-measures": lambda cast: own_measure(),
    "api-benchmark-measure": lambda cast: {"admit": False},
    "api-versions": lambda cast: {"test_set": cast.gold.slug},
    "api-projects": lambda cast: {"title": "New one", "kind": "relations"},
    "api-members": lambda cast: {"username": "sam", "role": "viewer"},
    "api-member-remove": lambda cast: {"username": "vera", "preview": True},
    "api-test-set-split": lambda cast: SPLIT,
    "api-disputes-bulk": lambda cast: {"pattern": "1–1", "answer": "na", "preview": True},
    "api-items-bulk": lambda cast: {"action": "exclude", "all": True, "preview": True},
    "api-disputes-undo": lambda cast: {"client_id": str(uuid4())},
    "api-test-set-companions": lambda cast: {"set": cast.test_set.slug, "role": "training"},
    "api-test-set-mapping": lambda cast: {"name": "Mapped", "version": "1", "names": {"born_in": "other"}},
    "api-test-set-publish": lambda cast: {"access": "named", "usernames": ["vera"]},
    "api-test-set-withdraw": lambda cast: {"reason": "Two texts were wrong."},
    "api-release-accept": lambda cast: {"terms_sha256": hashlib.sha256().hexdigest()},
    "api-test-set-card": lambda cast: {"words": "From three papers."},
    "api-test-set-releases": lambda cast: {"username": "olga"},
    "api-second-readings": lambda cast: {"n": 1, "seed": "x"},
    "api-second-reading": lambda cast: {"payload": {"relations": ["died_in"]}},
    "api-ontology-versions": lambda cast: {"version": 99},
    "api-guidelines": lambda cast: {"text": "As before, in other words."},
    "api-ontology-steps": lambda cast: {"steps": [{"operation": "add", "target": "worked_in"}]},
    "api-freeze": lambda cast: {"name": "Harbour", "version": "2.0", "leave_out": True},
    "api-lease": lambda cast: {"holding": []},
    "api-reserve": lambda cast: {"holding": [], "n": 2},
    "api-quality": lambda cast: {"check_every": 5},
    "api-project-effects": lambda cast: {"change": "k", "k": 3},
    "api-ontology-label": lambda cast: {"phrase": "was born in", "choose": ["Ada was born in Turin."]},
    "api-answer": lambda cast: vote() | {"payload": {"spans": [], "relations": ["born_in"]}},
    "api-skip": lambda cast: vote() | {"reason": "broken"},
    "api-decision": lambda cast: decision(cast) | {"payload": {"spans": [], "relations": ["died_in"]}},
    "api-benchmarks": lambda cast: (
        {"slug": "new-one", "title": "New one", "task": "relations"} | {"labels": [{"name": "born_in"}]}
    ),
    "api-settings": lambda cast: setting(cast) | {"test_set": cast.gold.slug},
    "api-settings:foreign": lambda cast: setting(cast) | {"test_set": cast.test_set.slug},
}
UPLOADS: dict[str, Callable[[ServiceCast], Fields]] = {
    "api-imports": lambda cast: {"file": file(sentences()), "what": "items"},
    "api-test-sets": lambda cast: {"file": file(published()), "name": "New", "version": "1"},
    "api-submissions": lambda cast: FORMS["submit"](cast),
    "api-models": lambda cast: FORMS["submit"](cast),
    "api-test-set-leakage": lambda cast: {"file": file(sentences())},
    "api-candidates": lambda cast: {"order": ["random"], "random": 1, "seed": "s"},
    "api-check": lambda cast: {"file": file(predicted_scores(0.3))},
}


def request_body(row: str, cast: ServiceCast) -> Fields:
    """The body, as arguments of the test client."""
    name = row.partition(":")[0]
    if name in UPLOADS:
        return {"data": UPLOADS[name](cast)}
    if name.startswith("api-"):
        make = BODIES.get(row) or BODIES.get(name)
        return {"data": make(cast) if make else {}, "content_type": "application/json"}
    fill = FORMS.get(row) or FORMS.get(name)
    return {"data": fill(cast) if fill else {}}
