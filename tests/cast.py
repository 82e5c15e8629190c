"""The people and rooms of the tests that walk through the whole house, made through the verbs.

Harbour is a labelling project, Orchard another one; Tides is a public board on published gold, Vault a
hidden one. Words that somebody must not see contain `canary`.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import uuid4

from django.utils import timezone

from annotation import projects
from annotation.adjudication import decisions
from annotation.freezing import builder
from annotation.imports import batches
from annotation.models import Batch, Item, Lease, Project, TestSet
from annotation.ontology import inventory
from annotation.queue import assignment, votes
from annotation.reports import agreement
from evalsvc.core.accounts import teams, tokens
from evalsvc.core.accounts.models import ApiToken, Team, User
from evalsvc.core.formats.problems import FileRejected
from evalsvc.core.formats.writer import canonical_line
from evalsvc.core.jobs.models import Job
from evalsvc.evaluation.benchmarks import creation
from evalsvc.evaluation.models import Benchmark, Submission
from evalsvc.evaluation.submissions import intake
from workers.runner import run_inline

PASSWORD = "harbour-lamp-7"
LABELS = ("lived_in", "born_in", "died_in")
TEXT = "canary text"
SOURCE = "canary_source"
REASON = "canary reason"
COMMENTS = {"ann": "canary remark one", "bob": "canary remark two"}
GOLD_TEXT = "canary gold"
GOLD_NAME = "canary mention"
HIDDEN = "canary vault"
GOLD_TOKEN = "canarytoken"
FILE = "canary-kelpie.jsonl"
RIVAL_FILE = "canary-lugworm.jsonl"
TEAM_TOKEN = "canary token"


def person(name: str, **more: Any) -> User:
    """Somebody who can log in; the last name is what others must not always see."""
    return User.objects.create_user(
        name, password=PASSWORD, first_name=name.title(), last_name=f"Canary{name}", **more
    )


def sentence(at: int, *, word: str = TEXT, name: str = "Ada", **more: Any) -> dict[str, Any]:
    text = f"{name} was seen in Turin, {word} {at}."
    tail = text.index("Turin")
    return {
        "id": f"s{at}",
        "text": text,
        "h": {"id": f"Q{at}", "name": name, "pos": [0, len(name)]},
        "t": {"id": "T", "name": "Turin", "pos": [tail, tail + 5]},
    } | more


def jsonl(lines: Iterable[dict[str, Any]]) -> bytes:
    return b"".join(map(canonical_line, lines))


def work(kind: str, subject: int) -> None:
    """Do the newest job of this kind here."""
    job = run_inline(Job.objects.filter(kind=kind, subject=subject).latest("pk"))
    assert job.state == Job.State.DONE, job.error


def guesses(*labels: str) -> bytes:
    return jsonl({"id": f"s{at}", "label": label} for at, label in enumerate(labels, 1))


@dataclass
class Cast:
    """Who is there, by name, and what they made."""

    people: dict[str, User] = field(default_factory=dict)
    secrets: dict[str, str] = field(default_factory=dict)
    harbour: Project = field(init=False)
    orchard: Project = field(init=False)
    batch: Batch = field(init=False)
    release: TestSet = field(init=False)
    gold: TestSet = field(init=False)
    gold_batch: Batch = field(init=False)
    tides: Benchmark = field(init=False)
    vault: Benchmark = field(init=False)
    shoals: Benchmark = field(init=False)
    kelpie: Team = field(init=False)
    scored: Submission = field(init=False)
    waiting: Submission = field(init=False)
    rivals: Submission = field(init=False)
    lease: Lease = field(init=False)
    others_lease: Lease = field(init=False)
    token: ApiToken = field(init=False)

    @classmethod
    def assembled(cls) -> Cast:
        cast = cls()
        cast._hire()
        cast._label()
        cast._compare()
        cast._release()
        cast._rank()
        cast._submit()
        cast._give_keys()
        return cast

    def __getitem__(self, name: str) -> User:
        return self.people[name]

    def item(self, at: int) -> Item:
        return self.harbour.items.get(external_id=f"s{at}")

    # ---- how they came together ------------------------------------------------------------------
    def _hire(self) -> None:
        self.people["root"] = person("root", is_superuser=True)
        self.people["olga"] = person("olga", may_organise=True)
        for name in ("sam", "vera", "ann", "bob", "judy", "cleo", "otto", "kim", "mia", "lars", "tess"):
            self.people[name] = person(name)
        self.harbour = self._project("harbour", "cleo")
        self.orchard = self._project("orchard", "otto")
        roles = {"vera": "viewer", "ann": "annotator", "bob": "annotator", "judy": "adjudicator"}
        for name, role in (roles | {"tess": "curator"}).items():
            projects.set_member(self.harbour, user=self[name], role=role, by=self["cleo"])

    def _project(self, slug: str, curator: str) -> Project:
        """Opened by root and handed over, so that its curator is nothing but that."""
        root = self["root"]
        project = projects.create(title=slug.title(), slug=slug, kind="relations", k=2, by=root)
        projects.set_member(project, user=self[curator], role="curator", by=root)
        projects.remove_member(project, user=root, by=self[curator])
        inventory.add_labels(project, LABELS, by=self[curator])
        return project

    def bring(self, into: Project, lines: Iterable[dict[str, Any]], *, by: str, what: str = "items") -> Batch:
        upload = io.BytesIO(jsonl(lines))
        batch = batches.receive(what=what, upload=upload, filename="lines.jsonl", by=self[by], project=into)
        work("import", batch.pk)
        return batch

    def say(self, who: str, at: int, *relations: str) -> None:
        payload = {"spans": [], "relations": list(relations)}
        told = {"client_id": uuid4(), "comment": COMMENTS[who], "flagged": True}
        votes.answer(self.item(at), self[who], payload=payload, **told)

    def _label(self) -> None:
        """s1 is settled, s2 adjudicated, s3 disputed, s4 leased to ann, s5 to bob, s6 to s8 are open."""
        lines = [sentence(at, relations=[SOURCE]) for at in range(1, 9)]
        self.batch = self.bring(self.harbour, lines, by="cleo")
        self.bring(self.orchard, [sentence(1, word="orchard text")], by="otto")
        projects.open_for_work(self.harbour, by=self["cleo"])
        for at, anns, bobs in (
            (1, "born_in", "born_in"),
            (2, "born_in", "died_in"),
            (3, "lived_in", "died_in"),
        ):
            self.say("ann", at, anns)
            self.say("bob", at, bobs)
        self._decide(2)
        self.lease, self.others_lease = self._leased("ann"), self._leased("bob")

    def _compare(self) -> None:
        """How far the annotators of Harbour agree is worked out once."""
        work("agreement", agreement.ask(self.harbour, by=self["cleo"]).pk)

    def _decide(self, at: int) -> None:
        told = {"payload": {"spans": [], "relations": ["died_in"]}, "reason": REASON}
        key = self.item(at).votes_key
        decisions.decide(self.item(at), by=self["judy"], client_id=uuid4(), votes_key=key, **told)

    def _leased(self, who: str) -> Lease:
        lease = assignment.lease_next(self.harbour, self[who])
        assert lease is not None
        return lease

    def _release(self) -> None:
        self.release = builder.freeze(
            self.harbour, name="Harbour", version="1.0", leave_out=True, by=self["cleo"]
        )
        work("freeze", self.release.pk)
        work("describe", self.release.pk)
        self.release.refresh_from_db()

    def _rank(self) -> None:
        golds = [["born_in"], [], ["died_in"], ["born_in"]]
        lines = [
            sentence(at, word=GOLD_TEXT, name=GOLD_NAME, relations=gold) for at, gold in enumerate(golds, 1)
        ]
        self.gold_batch = self._publish("Tides", lines, kind="relations", negative="NA")
        self.gold = TestSet.objects.get(batch=self.gold_batch)
        self.tides = self._board("tides", "Tides", public=True)
        self.vault = self._board("vault", HIDDEN, public=False)

        self._rank_entities()

    def _publish(self, name: str, lines: Iterable[dict[str, Any]], **options: str) -> Batch:
        batch = batches.receive(
            what="gold",
            upload=io.BytesIO(jsonl(lines)),
            filename="gold.jsonl",
            options={"name": name, "version": "1.0"} | options,
            by=self["olga"],
        )
        work("import", batch.pk)
        return batch

    def _rank_entities(self) -> None:
        gold = {"id": "d1", "tokens": [GOLD_TOKEN, "left"], "spans": [[0, 1, "PER"]], "relations": []}
        test_set = TestSet.objects.get(batch=self._publish("Shoals", [gold], kind="entities"))
        told = {"slug": "shoals", "title": "Shoals", "task": "entities", "labels": ["PER"]}
        self.shoals = creation.create(**told, options={"scheme": "IOB2"}, by=self["olga"])
        told = {"key": "main", "title": "Documents", "unit": "document", "main": "conll_micro_f1"}
        creation.add_setting(self.shoals, test_set=test_set, by=self["olga"], **told)

    def _board(self, slug: str, title: str, *, public: bool) -> Benchmark:
        olga = self["olga"]
        board = creation.create(
            slug=slug,
            title=title,
            task="relations",
            labels=LABELS,
            negative="NA",
            public=public,
            by=olga,
        )
        for key, unit in (("main", "sentence"), ("bags", "bag")):
            told = {"test_set": self.gold, "unit": unit, "main": "micro_f1"}
            creation.add_setting(board, key=key, title=f"{title} {key}", by=olga, **told)
        return board

    def submit(self, who: str, team: Team, *, run: str, body: bytes, filename: str = "") -> Submission:
        told = {"system": f"Net of {team.slug}", "run": run, "filename": filename}
        return intake.receive(self.tides, team=team, by=self[who], chunks=[body], **told).submission

    def _submit(self) -> None:
        """One run of Kelpie scored and one waiting; one of its rival, with one refused before it."""
        self.kelpie = teams.create_team(name="Kelpie", by=self["kim"])
        for name in ("mia", "tess"):
            teams.add_member(self.kelpie, user=self[name], by=self["kim"])
        lugworm = teams.create_team(name="Lugworm", by=self["lars"])
        self.scored = self.submit("kim", self.kelpie, run="1", body=scores(0.9), filename=FILE)
        self.rivals = self.submit("lars", lugworm, run="1", body=scores(0.7), filename=RIVAL_FILE)
        for submission in (self.scored, self.rivals):
            work("score", submission.pk)
            submission.refresh_from_db()
        self.waiting = self.submit("kim", self.kelpie, run="2", body=scores(0.5))
        try:
            self.submit("lars", lugworm, run="3", body=guesses("born_in", "nonsense"))
        except FileRejected as refused:
            assert refused.problems.total  # noqa: PT017 - it is the cast that is checked here
        else:
            raise AssertionError("A file that does not fit was taken in.")

    def _give_keys(self) -> None:
        """Tess may do most, so that only the scope stands between her tokens and the doors."""
        creation.Organiser.objects.create(benchmark=self.tides, user=self["tess"], role="organiser")
        self.token, _ = tokens.issue(self["kim"], name=TEAM_TOKEN, team=self.kelpie)
        for scope in ("read", "submit", "full", "expired", "revoked"):
            wide = scope if scope in ApiToken.Scope.values else "full"
            token, self.secrets[scope] = tokens.issue(self["tess"], name=scope, team=self.kelpie, scope=wide)
            if scope == "expired":
                ApiToken.objects.filter(pk=token.pk).update(expires_at=timezone.now() - timedelta(hours=1))
            if scope == "revoked":
                tokens.revoke(token)


def scores(first: float) -> bytes:
    """Scored claims, so that there are curves."""
    lines = [(1, {"born_in": first, "died_in": 0.2}), (2, {"born_in": 0.4}), (3, {"died_in": 0.8}), (4, {})]
    return jsonl({"id": f"s{at}", "scores": said} for at, said in lines)
