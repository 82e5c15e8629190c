"""Teams, curators and annotators at work: they send until they are answered, and note what was accepted."""

from __future__ import annotations

import hashlib
import http.client
import json
import random
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

from tests.crash.points import CORPUS, PARTS
from tests.crash.service import Service, Strike

LABELS = ("born_in", "works_for", "part_of", "N/A")
BOARDS, SYSTEMS, RUNS_BEFORE = 4, 5, 3
PATIENCE_SECONDS = 330  # models wait 4 minutes for a self-test that was interrupted
ITEMS, LINES_OF_AN_IMPORT = 4_000, 30
VOTE_EVERY_SECONDS = 0.5
LATER = ("models_", "import_running", "too_many_comparisons", "too_many_checks")
TRY_LATER = tuple(f'"code":"{code}' for code in LATER)
FORM = "crash-form"
WHOLE = "whole"  # gold that is split and mapped


def gold(dice: random.Random, n: int = 12) -> list[dict[str, Any]]:
    """Lines of gold in which one label or none is right."""
    from tests.cast.benchmarks import gold_sentence

    names = [dice.choice(LABELS) for _ in range(n)]
    return [
        gold_sentence(f"g{at}", f"Q{at}", f"R{at}", *([name] if name != "N/A" else []))
        for at, name in enumerate(names)
    ]


def expected(answers: list[str], lines: list[dict[str, Any]]) -> float:
    """Micro F1 by hand."""
    right = [line["relations"] for line in lines]
    hits = sum(answer in names for answer, names in zip(answers, right, strict=True))
    predicted = sum(answer != "N/A" for answer in answers)
    return 2 * hits / ((predicted + sum(map(len, right))) or 1)


def candidates_of(part: int) -> list[str]:
    """Names of sentences of the corpus, the last first."""
    return [f"s{at}" for at in reversed(range(CORPUS)) if at % PARTS == part]


@dataclass
class Sent:
    """A run: what was sent, and the number it got."""

    board: str
    number: int
    run: str
    answers: list[str]
    body: bytes
    pk: int = 0

    @property
    def system(self) -> str:
        return f"Net {self.number % SYSTEMS}"

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.body).hexdigest()


@dataclass
class Clients:
    """Everybody who sends, and what they were promised."""

    service: Service
    dice: random.Random
    models: bool
    golds: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    runs: list[Sent] = field(default_factory=list)
    model_runs: list[int] = field(default_factory=list)
    imports: dict[int, list[str]] = field(default_factory=dict)
    frozen: list[str] = field(default_factory=list)
    derived: list[str] = field(default_factory=list)
    choices: dict[int, int] = field(default_factory=dict)
    votes: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    refused_votes: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    threads: list[threading.Thread] = field(default_factory=list)

    def __post_init__(self) -> None:
        from evalsvc.core.accounts.tokens import issue
        from tests.cast.benchmarks import BenchmarkCast
        from tests.cast.projects import annotators, answered_item, curator, project_with_items

        self.cast = cast = BenchmarkCast.create()
        for name in (*(f"rel-{n}" for n in range(BOARDS)), "again"):
            self.open_board(name)
        self.freeze(WHOLE, gold(self.dice))
        self.entities = cast.entities()
        self.labelling = project_with_items(ITEMS)
        self.corpus = project_with_items(CORPUS)
        self.deciding = project_with_items(7)
        for at in range(7):
            answered_item(self.deciding, ["A"], ["A"], item=f"s{at}")
        people = [cast.olga, curator(), *annotators(self.labelling, 2)]
        self.tokens = {user.username: issue(user, name="crash", scope="full")[1] for user in people}
        self.tokens["kim"] = issue(cast.kim, name="crash", team=cast.kelpie, scope="full")[1]
        self.model = self.pack_model() if self.models else b""
        self.voting, self.ended = threading.Lock(), threading.Event()

    def open_board(self, slug: str) -> None:
        from tests.cast.benchmarks import freeze

        self.golds[slug] = gold(self.dice)
        test_set = freeze(slug, self.golds[slug], by=self.cast.olga)
        rows = [("main", test_set, "sentence", "micro_f1")]
        self.cast.benchmark(slug, settings=rows, per_day=100_000)

    def pack_model(self) -> bytes:
        from tests.workers import tiny

        with TemporaryDirectory() as folder:
            tiny.trained().to_disk(folder)
            return tiny.packed(Path(folder))

    # ---- sending -----------------------------------------------------------------------------------
    def request(self, who: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, Any]:
        """Send until there is an answer that is no fault of the service; 0 if there is none in time."""
        method, end = headers.pop("method", "POST"), time.monotonic() + PATIENCE_SECONDS
        headers |= {"Authorization": f"Bearer {self.tokens[who]}"}
        address = f"{self.service.url}/api/v1/{path}"
        while time.monotonic() < end:
            call = urllib.request.Request(address, body or None, headers, method=method)
            with suppress(OSError, ValueError, http.client.HTTPException):
                try:
                    with urllib.request.urlopen(call, timeout=15) as answer:
                        return answer.status, json.load(answer) if answer.status != 204 else None
                except urllib.error.HTTPError as error:
                    text = error.read().decode(errors="replace")
                    if error.code < 500 and not any(code in text for code in TRY_LATER):
                        return error.code, text
            time.sleep(0.5)
        return 0, "no answer"

    def post(self, who: str, path: str, body: Mapping[str, Any]) -> tuple[int, Any]:
        headers = {"Content-Type": "application/json"}
        return self.request(who, path, json.dumps(body).encode(), **headers)

    def accept(self, what: str, status: int, answer: Any, *also: int) -> bool:
        """Note a refusal."""
        if status not in (200, 201, 202, *also):
            self.refusals.append(f"{what}: {status} {str(answer)[:300]}")
        return status in (200, 201, 202)

    def begin(self, work: Callable[[], object]) -> None:
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        self.threads.append(thread)

    def send_for(self, strike: Strike, number: int) -> None:
        """Send what passes the point of the strike."""
        kinds = {"importing": self.send_import, "inserting": self.send_import, "freezing": self.send_freeze}
        kinds |= {"predicting": self.send_model, "rescoring": self.revise, "comparing": self.compare}
        kinds |= {"splitting": self.split, "mapping": self.map_labels, "choosing": self.choose}
        if send := kinds.get(strike.at):
            strike.gold = WHOLE if strike.at in ("splitting", "mapping") else "again"
            self.begin(lambda: send(number))
            return
        sent = self.new_run(f"rel-{number % BOARDS}", number)
        strike.gold, strike.stored = sent.board, sent.sha256
        self.begin(lambda: self.send_run(sent))

    # ---- runs --------------------------------------------------------------------------------------
    def new_run(self, board: str, number: int, answers: list[str] | None = None) -> Sent:
        lines, dice = self.golds[board], random.Random(f"{board} {number}")
        answers = answers or [dice.choice(LABELS) for _ in lines]
        pairs = zip(lines, answers, strict=True)
        body = "\n".join(json.dumps({"id": line["id"], "label": answer}) for line, answer in pairs)
        return Sent(board, number, str(number), answers, body.encode())

    def send_run(self, sent: Sent) -> None:
        path = f"benchmarks/{sent.board}/submissions?" + urlencode({"system": sent.system, "run": sent.run})
        headers = {"Content-Type": "application/x-ndjson", "Idempotency-Key": f"{sent.board} {sent.run}"}
        status, answer = self.request("kim", path, sent.body, **headers)
        if self.accept(path, status, answer):
            sent.pk = answer["id"]
            self.runs.append(sent)

    def send_model(self, number: int) -> None:
        """Send a model that differs from the others in a note, so that it runs."""
        path = f"benchmarks/{self.entities.slug}/models?system=Tiny&run={number}"
        body = with_note(self.model, f"note-{number}")
        headers = {"Content-Type": "application/x-tar", "Idempotency-Key": f"model {number}"}
        status, answer = self.request("kim", path, body, **headers)
        if self.accept(path, status, answer):
            self.model_runs.append(answer["id"])

    def revise(self, number: int) -> None:
        """Begin a version with new gold, under which every run is scored again."""
        slug = f"again-{number}-{uuid4().hex[:6]}"
        lines = gold(random.Random(f"gold {number}"))
        while True:
            with suppress(Exception):
                self.freeze(slug, lines)
                break
            slug = f"again-{number}-{uuid4().hex[:6]}"
            time.sleep(0.5)
        self.golds[slug] = lines
        path = "benchmarks/again/settings/main/versions"
        self.accept(path, *self.post("olga", path, {"test_set": slug}), 409)  # repeated

    def freeze(self, slug: str, lines: list[dict[str, Any]]) -> None:
        from django.db import connection, transaction

        from tests.cast.benchmarks import freeze

        try:
            with transaction.atomic():
                freeze(slug, lines, by=self.cast.olga)
        finally:
            connection.close()

    # ---- test sets and comparisons -----------------------------------------------------------------
    def split(self, number: int) -> None:
        shares = f"a{number}=0.5,b{number}=0.5"
        body = {"parts": shares, "seed": str(number), "stratified": True}
        status, answer = self.post("olga", f"test-sets/{WHOLE}/split", body)
        if self.accept("split", status, answer, 409):  # repeated
            self.derived += [part["slug"] for part in answer["parts"]]

    def map_labels(self, number: int) -> None:
        body = {"names": {"born_in": "birthplace"}, "name": f"Mapped {number}", "version": "1"}
        status, answer = self.post("olga", f"test-sets/{WHOLE}/mapping", body)
        if self.accept("mapping", status, answer, 409):  # repeated
            self.derived.append(answer["slug"])

    def compare(self, number: int) -> None:
        """Send a run, and once it is scored compare systems of its board."""
        sent = self.new_run(f"rel-{number % BOARDS}", number)
        self.send_run(sent)
        team = self.cast.kelpie.slug
        names = sorted({f"{team}/{run.system}" for run in self.runs if run.board == sent.board})
        if len(names) > 1:
            path = f"benchmarks/{sent.board}/compare?" + urlencode({"systems": names}, doseq=True)
            self.accept(path, *self.post("olga", path, {}), 409)  # not scored yet

    # ---- projects ----------------------------------------------------------------------------------
    def choose(self, number: int) -> None:
        """Choose one part of the corpus as candidates."""
        fields = [("order", "ids"), *(("ids", name) for name in candidates_of(number % PARTS))]
        head = 'Content-Disposition: form-data; name="%s"'
        parts = [f"--{FORM}\r\n{head % name}\r\n\r\n{value}\r\n" for name, value in fields]
        body = f"{''.join(parts)}--{FORM}--\r\n".encode()
        path = f"projects/{self.corpus.slug}/candidates"
        headers = {"Content-Type": f"multipart/form-data; boundary={FORM}"}
        status, answer = self.request("curator", path, body, **headers)
        if self.accept(path, status, answer, 409):  # repeated, or the one before still moves
            self.choices[answer["choice"]] = number % PARTS

    def send_import(self, number: int) -> None:
        from tests.cast.basics import sentence

        lines = [sentence(f"i{number}-{at}") for at in range(LINES_OF_AN_IMPORT)]
        content = "\n".join(json.dumps(line) for line in lines)
        head = 'Content-Disposition: form-data; name="file"; filename="lines.jsonl"'
        body = f"--{FORM}\r\n{head}\r\n\r\n{content}\r\n--{FORM}--\r\n".encode()
        path = f"projects/{self.deciding.slug}/imports"
        headers = {"Content-Type": f"multipart/form-data; boundary={FORM}"}
        status, answer = self.request("curator", path, body, **headers)
        if self.accept(path, status, answer):
            self.imports[answer["id"]] = [line["id"] for line in lines]

    def send_freeze(self, number: int) -> None:
        path, body = f"projects/{self.deciding.slug}/freeze", {"name": "Trial", "version": f"{number}.0"}
        status, answer = self.post("curator", path, body | {"leave_out": True})
        if self.accept(path, status, answer, 409):  # repeated
            self.frozen.append(answer["slug"])

    # ---- votes -------------------------------------------------------------------------------------
    def label(self, who: str) -> None:
        """Answer one item after the other until the end."""
        dice = random.Random(who)
        while not self.ended.wait(VOTE_EVERY_SECONDS):
            with self.voting:
                status, lease = self.post(who, f"projects/{self.labelling.slug}/lease", {})
                if status != 200:
                    continue
                item, client, choice = lease["item"]["id"], str(uuid4()), dice.choice("AB")
                vote = {"client_id": client, "base": lease["base"], "payload": {"relations": [choice]}}
                status, answer = self.post(who, f"items/{item}/answer", vote)
                if self.accept("vote", status, answer, 409):
                    self.votes[client] = (item, who, choice)
                else:
                    self.refused_votes.append(client)


def with_note(tar: bytes, name: str) -> bytes:
    """The tar with one more file."""
    import io
    import tarfile

    out = io.BytesIO(tar)
    with tarfile.open(fileobj=out, mode="a") as added:
        added.addfile(tarfile.TarInfo(name))
    return out.getvalue()
