"""The whole service with a person in every role, for tests that ask each route as each of them.

Harbour is a labelling project, Orchard another one; Tides is a public benchmark on published gold, Vault a
hidden one. Texts that somebody must not see contain `canary`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import uuid4

from django.utils import timezone

from annotation import projects
from annotation.adjudication import decisions
from annotation.freezing import builder
from annotation.models import Batch, Item, Lease, Project, TestSet
from annotation.ontology import inventory
from annotation.queue import leases
from annotation.releases import publishing
from evalsvc.core.accounts import teams, tokens
from evalsvc.core.accounts.models import ApiToken, Team, User
from evalsvc.core.formats.problems import FileRejected
from evalsvc.core.jobs.models import Job
from evalsvc.evaluation.benchmarks import creation
from evalsvc.evaluation.models import Benchmark, Submission
from evalsvc.evaluation.submissions import intake
from tests.cast import basics
from tests.cast.basics import jsonl, sentence
from tests.cast.projects import answer_item, import_lines
from tests.cast.replay import replayed

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


def person(name: str, **fields: Any) -> User:
    """A user with a last name that is hidden from some."""
    return basics.person(name, first_name=name.title(), last_name=f"Canary{name}", **fields)


def canary_sentence(at: int, *, word: str = TEXT, name: str = "Ada", **more: Any) -> dict[str, Any]:
    text = f"{name} was seen in Turin, {word} {at}."
    return sentence(at, text, name=name, head=f"Q{at}", tail="T", **more)


def run_job(kind: str, subject: int) -> None:
    job = basics.run_job(kind, subject)
    assert job.state == Job.State.DONE, job.error


def predicted_labels(*labels: str) -> bytes:
    return jsonl({"id": f"s{at}", "label": label} for at, label in enumerate(labels, 1))


def predicted_scores(first: float) -> bytes:
    """Predictions with scores, so that there are curves."""
    lines = [(1, {"born_in": first, "died_in": 0.2}), (2, {"born_in": 0.4}), (3, {"died_in": 0.8}), (4, {})]
    return jsonl({"id": f"s{at}", "scores": scores} for at, scores in lines)


@dataclass
class ServiceCast:
    """Users by name, and everything they made."""

    people: dict[str, User] = field(default_factory=dict)
    secrets: dict[str, str] = field(default_factory=dict)
    harbour: Project = field(init=False)
    orchard: Project = field(init=False)
    batch: Batch = field(init=False)
    test_set: TestSet = field(init=False)
    gold: TestSet = field(init=False)
    gold_batch: Batch = field(init=False)
    tides: Benchmark = field(init=False)
    vault: Benchmark = field(init=False)
    shoals: Benchmark = field(init=False)
    kelpie: Team = field(init=False)
    scored: Submission = field(init=False)
    queued: Submission = field(init=False)
    rival: Submission = field(init=False)
    lease: Lease = field(init=False)
    others_lease: Lease = field(init=False)
    token: ApiToken = field(init=False)

    @classmethod
    @replayed
    def create(cls) -> ServiceCast:
        cast = cls()
        cast._create_users()
        cast._label_harbour()
        cast._compute_agreement()
        cast._freeze()
        cast._create_benchmarks()
        cast._submit_runs()
        cast._issue_tokens()
        return cast

    def __getitem__(self, name: str) -> User:
        return self.people[name]

    def item(self, at: int) -> Item:
        return self.harbour.items.get(external_id=f"s{at}")

    def _create_users(self) -> None:
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
        """Created by root and handed over, so that its curator has no other role."""
        root = self["root"]
        project = projects.create(title=slug.title(), slug=slug, kind="relations", k=2, by=root)
        projects.set_member(project, user=self[curator], role="curator", by=root)
        projects.remove_member(project, user=root, by=self[curator])
        inventory.add_labels(project, LABELS, by=self[curator])
        return project

    def _answer(self, who: str, at: int, *relations: str) -> None:
        answer_item(self.item(at), self[who], *relations, comment=COMMENTS[who], flagged=True)

    def _label_harbour(self) -> None:
        """s1 is settled, s2 adjudicated, s3 disputed, s4 leased to ann, s5 to bob, s6 to s8 are open."""
        lines = [canary_sentence(at, relations=[SOURCE]) for at in range(1, 9)]
        self.batch = import_lines(self.harbour, lines, by=self["cleo"])
        import_lines(self.orchard, [canary_sentence(1, word="orchard text")], by=self["otto"])
        projects.open_for_work(self.harbour, by=self["cleo"])
        for at, anns, bobs in (
            (1, "born_in", "born_in"),
            (2, "born_in", "died_in"),
            (3, "lived_in", "died_in"),
        ):
            self._answer("ann", at, anns)
            self._answer("bob", at, bobs)
        self._decide(2)
        self.lease, self.others_lease = self._leased("ann"), self._leased("bob")

    def _compute_agreement(self) -> None:
        """Compute agreement in Harbour once."""
        assert basics.compute_agreement(self.harbour, by=self["cleo"]).state == Job.State.DONE

    def _decide(self, at: int) -> None:
        item = self.item(at)
        decisions.decide(
            item,
            by=self["judy"],
            client_id=uuid4(),
            votes_key=item.votes_key,
            payload={"spans": [], "relations": ["died_in"]},
            reason=REASON,
        )

    def _leased(self, who: str) -> Lease:
        lease = leases.lease_next(self.harbour, self[who])
        assert lease is not None
        return lease

    def _freeze(self) -> None:
        self.test_set = builder.freeze(
            self.harbour, name="Harbour", version="1.0", leave_out=True, by=self["cleo"]
        )
        run_job("freeze", self.test_set.pk)
        run_job("describe", self.test_set.pk)
        self.test_set.refresh_from_db()
        publishing.publish(self.test_set, access="named", usernames=["vera"], by=self["cleo"])

    def _create_benchmarks(self) -> None:
        golds = [["born_in"], [], ["died_in"], ["born_in"]]
        lines = [
            canary_sentence(at, word=GOLD_TEXT, name=GOLD_NAME, relations=gold)
            for at, gold in enumerate(golds, 1)
        ]
        self.gold_batch = self._publish("Tides", lines, kind="relations", negative="NA")
        self.gold = TestSet.objects.get(batch=self.gold_batch)
        self.tides = self._benchmark("tides", "Tides", public=True)
        self.vault = self._benchmark("vault", HIDDEN, public=False)

        self._create_entity_benchmark()

    def _publish(self, name: str, lines: Iterable[dict[str, Any]], **options: str) -> Batch:
        return import_lines(None, lines, what="gold", by=self["olga"], name=name, version="1.0", **options)

    def _create_entity_benchmark(self) -> None:
        gold = {"id": "d1", "tokens": [GOLD_TOKEN, "left"], "spans": [[0, 1, "PER"]], "relations": []}
        test_set = TestSet.objects.get(batch=self._publish("Shoals", [gold], kind="entities"))
        fields = {"slug": "shoals", "title": "Shoals", "task": "entities", "labels": ["PER"]}
        self.shoals = creation.create(**fields, options={"scheme": "IOB2"}, by=self["olga"])
        setting = {"key": "main", "title": "Documents", "unit": "document", "main": "conll_micro_f1"}
        setting["disclosure"] = "open"
        creation.add_setting(self.shoals, test_set=test_set, by=self["olga"], **setting)

    def _benchmark(self, slug: str, title: str, *, public: bool) -> Benchmark:
        olga = self["olga"]
        benchmark = creation.create(
            slug=slug,
            title=title,
            task="relations",
            labels=LABELS,
            negative="NA",
            public=public,
            by=olga,
        )
        for key, unit in (("main", "sentence"), ("bags", "bag")):
            setting = {"test_set": self.gold, "unit": unit, "main": "micro_f1", "disclosure": "open"}
            creation.add_setting(benchmark, key=key, title=f"{title} {key}", by=olga, **setting)
        return benchmark

    def submit(self, who: str, team: Team, *, run: str, body: bytes, filename: str = "") -> Submission:
        fields = {"system": f"Net of {team.slug}", "run": run, "filename": filename}
        return intake.receive(self.tides, team=team, by=self[who], chunks=[body], **fields).submission

    def _submit_runs(self) -> None:
        """Kelpie has a scored and a queued run; its rival a scored run and a rejected file."""
        self.kelpie = teams.create_team(name="Kelpie", by=self["kim"])
        for name in ("mia", "tess"):
            teams.add_member(self.kelpie, user=self[name], by=self["kim"])
        lugworm = teams.create_team(name="Lugworm", by=self["lars"])
        self.scored = self.submit("kim", self.kelpie, run="1", body=predicted_scores(0.9), filename=FILE)
        self.rival = self.submit("lars", lugworm, run="1", body=predicted_scores(0.7), filename=RIVAL_FILE)
        for submission in (self.scored, self.rival):
            run_job("score", submission.pk)
            submission.refresh_from_db()
        self.queued = self.submit("kim", self.kelpie, run="2", body=predicted_scores(0.5))
        try:
            self.submit("lars", lugworm, run="3", body=predicted_labels("born_in", "nonsense"))
        except FileRejected as refused:
            assert refused.problems.total  # noqa: PT017 - it is the cast that is checked here
        else:
            raise AssertionError("An invalid file was accepted.")

    def _issue_tokens(self) -> None:
        """Tess has every role, so that only the scope limits her tokens."""
        creation.Organiser.objects.create(benchmark=self.tides, user=self["tess"], role="organiser")
        self.token, _ = tokens.issue(self["kim"], name=TEAM_TOKEN, team=self.kelpie)
        for scope in ("read", "submit", "full", "expired", "revoked"):
            wide = scope if scope in ApiToken.Scope.values else "full"
            token, self.secrets[scope] = tokens.issue(self["tess"], name=scope, scope=wide)
            if scope == "expired":
                ApiToken.objects.filter(pk=token.pk).update(expires_at=timezone.now() - timedelta(hours=1))
            if scope == "revoked":
                tokens.revoke(token, by=token.user)
        _, self.secrets["team"] = tokens.issue(self["tess"], name="team", team=self.kelpie, scope="full")
