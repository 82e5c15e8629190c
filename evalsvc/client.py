"""Client for evalsvc in one file: module and program.

Needs Python 3.11 and no other package.

    export EVALSVC_URL=https://… EVALSVC_TOKEN=evs_…
    python evalsvc_client.py inputs BOARD > inputs.jsonl
    python evalsvc_client.py validate BOARD FILE
    python evalsvc_client.py submit BOARD FILE --system "My net" --run 1 --watch
    python evalsvc_client.py status ID --watch
    python evalsvc_client.py scores ID
    python evalsvc_client.py cancel ID          (or retry, or withdraw)
    python evalsvc_client.py compare BOARD TEAM/SYSTEM TEAM/SYSTEM …
    python evalsvc_client.py views BOARD
    python evalsvc_client.py save-view BOARD "By macro F1" "order=macro_f1"
    python evalsvc_client.py open-view BOARD ID (or delete-view)
    python evalsvc_client.py enter BOARD --accept 1
    python evalsvc_client.py limits BOARD       (or board, announcements, entrants, runs)
    python evalsvc_client.py terms BOARD TERMS.md --approval yes
    python evalsvc_client.py approve BOARD TEAM (or turn-down)
    python evalsvc_client.py announce BOARD "The test phase is open"
    python evalsvc_client.py archive BOARD FILE.zip
    python evalsvc_client.py measures BOARD
    python evalsvc_client.py propose BOARD NAME '{"base": "conll", "beta": 2}' --title "macro F2"
    python evalsvc_client.py admit BOARD NAME   (or decline, or retire)

Exit codes: 0 success; 1 invalid file, or a submission that ended without scores; 2 wrong arguments;
3 request rejected by the service; 4 service unreachable, or its reply is unexpected.
"""

from __future__ import annotations

import argparse
import gzip
import http.client
import io
import json
import os
import re
import shutil
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NotRequired, TypedDict

ENDED = frozenset({"scored", "invalid", "failed", "cancelled"})
WAITING = ("queued", "running")  # tests of a comparison
OK, INVALID, REJECTED, UNREACHABLE = 0, 1, 3, 4
STOPPED, CLOSED_PIPE = 130, 141  # as shells report SIGINT and SIGPIPE
TRIES = 6
MAX_PAUSE_SECONDS = 120  # a longer Retry-After is reported instead of waited for
TRANSIENT, NOT_BEGUN = frozenset({429, 502, 503, 504}), frozenset({429, 503})  # states of a reply
TIMEOUT_SECONDS = 60
WAIT_SECONDS = 20
CHUNK_BYTES = 1 << 16
REPLY_BYTES, INPUTS_BYTES = 100_000_000, 1_000_000_000  # at most in memory
# Of a reply read on; ValueError: a text where a number belongs.
UNEXPECTED = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)
# Control characters, line ends of Unicode, and characters that turn the direction of text: they could
# clear or rewrite the terminal. Halves of surrogate pairs: they cannot be printed.
HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
BAR_WIDTH = 30
LINES_NAMED = 5
NA_PLACES = ("first", "last", "none")
OnSent = Callable[[int, int], None]


class Progress(TypedDict):
    attempt: int
    done: int
    total: int
    step: str


class MappedLabel(TypedDict):
    """What an old name of a label became, and how many labels of a file had it."""

    to: str | None
    labels: int


class Comparison(TypedDict):
    """A comparison as described in the API documentation."""

    state: str
    reason: str
    sentences: list[str]
    joint: list[dict[str, Any]]
    tests: list[dict[str, Any]]
    method: str


class Submission(TypedDict):
    """A submission as described in the API documentation."""

    id: int
    status_url: str
    benchmark: str
    team: str
    system: str
    run: str
    state: str
    reason: str
    reason_code: str
    final_at: str | None
    final_in: list[str]
    withdrawn_at: str | None
    progress: Progress | None
    old_labels: NotRequired[dict[str, MappedLabel]]


class FileProblem(TypedDict):
    """One problem of a file."""

    code: str
    message: NotRequired[str]
    line: NotRequired[int]
    field: NotRequired[str]
    found: NotRequired[str]
    expected: NotRequired[str]
    hint: NotRequired[str]
    example: NotRequired[str]


class CheckResult(TypedDict):
    fits: bool
    format: str
    form: str
    counts: dict[str, int]
    old_labels: NotRequired[dict[str, MappedLabel]]
    error_count: int
    errors: list[FileProblem]
    errors_by_code: dict[str, int]
    warnings: dict[str, int]
    notes: NotRequired[list[str]]


class Score(TypedDict):
    value: float | None
    reason: NotRequired[str]


class Evaluation(TypedDict):
    setting: str
    versions: list[int]
    scores: dict[str, Score]
    titles: NotRequired[dict[str, str]]
    computed: NotRequired[str]


class Scores(TypedDict):
    submission: int
    state: str
    evaluations: list[Evaluation]
    versions: dict[str, list[int]]
    sealed: list[str]
    not_covered: list[str]


class BatchProgress(TypedDict):
    scored: int
    total: int


class Measure(TypedDict):
    """A contributed measure as described in the API documentation."""

    key: str
    name: str
    version: int
    title: str
    state: str
    complete: bool
    formula: str
    progress: BatchProgress | None


class ServiceError(Exception):
    """Error of a request rejected by the service."""

    def __init__(self, status: int, body: Mapping[str, Any], retry_after: float | None = None) -> None:
        self.status, self.retry_after = status, retry_after
        self.code: str = body.get("code", "error")
        self.errors: list[FileProblem] = body.get("errors", [])
        self.error_count: int = body.get("error_count", len(self.errors))
        detail = body.get("detail") or f"The service answered with status {status}."
        super().__init__(" ".join(filter(None, [detail, body.get("hint")])))

    @classmethod
    def of(cls, error: urllib.error.HTTPError) -> ServiceError:
        """Read the problem of a response, if its body is one."""
        try:
            body = _json(error)
        except UnexpectedReply:
            body = {}
        after = error.headers.get("Retry-After") or ""
        problem = body if isinstance(body, dict) else {}
        return cls(error.code, problem, float(after) if after.isdecimal() else None)


class WrongArgument(ValueError):
    """An argument or a setting with which no request can be made."""


class ServiceUnreachable(Exception):
    """No response after all retries, or none to a request that may have been carried out."""

    def __init__(self, url: str, error: Exception, *, may_be_done: bool = False) -> None:
        reason = getattr(error, "reason", error)  # without error numbers and class names
        text = str(getattr(reason, "strerror", None) or reason or type(error).__name__)
        look = " The request may have been carried out: look before you repeat it." if may_be_done else ""
        super().__init__(f"Cannot reach {url}: {text.strip('.').lower()}.{look}")


class UnexpectedReply(Exception):
    """A reply that is not as the API documentation describes."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follow no redirect, so that the token reaches no other address."""

    def redirect_request(self, *args: Any, **more: Any) -> None:
        return None


def _pieces(answer: Any) -> Iterator[bytes]:
    """Yield the body of a reply; raise if it ends early, which only reads of all of it tell by themselves."""
    while piece := answer.read(CHUNK_BYTES):
        yield piece
    if missing := getattr(answer, "length", None):
        raise http.client.IncompleteRead(b"", missing)


def _content(answer: Any, most: int = REPLY_BYTES) -> bytes:
    """Read a reply of bounded length: one without an end would fill the memory."""
    content = bytearray()
    for piece in _pieces(answer):
        content += piece
        if len(content) > most:
            raise UnexpectedReply(f"The reply of the service has more than {most:,} bytes.")
    return bytes(content)


def _json(answer: Any) -> Any:
    try:
        return json.loads(_content(answer))
    except (ValueError, RecursionError):
        raise UnexpectedReply("The reply of the service is not valid JSON.") from None


class _ReportingFile:
    """A file that reports how much of it was read."""

    def __init__(self, file: IO[bytes], size: int, sent: OnSent | None) -> None:
        self.file, self.size, self.sent = file, size, sent

    def read(self, size: int = -1) -> bytes:
        chunk = self.file.read(size)
        if self.sent and chunk:
            self.sent(self.file.tell(), self.size)
        return chunk


class Client:
    """Connection to one service with one token."""

    def __init__(self, url: str = "", token: str = "") -> None:
        """Defaults come from EVALSVC_URL and EVALSVC_TOKEN."""
        self.url = (url or os.environ.get("EVALSVC_URL", "http://127.0.0.1:8000")).rstrip("/")
        if not self.url.startswith(("http://", "https://")):
            raise WrongArgument(f"Invalid service URL {self.url}. Use http://… or https://….")
        self.token = token or os.environ.get("EVALSVC_TOKEN", "")
        self._opener = urllib.request.build_opener(_NoRedirects)

    def submit(
        self,
        benchmark: str,
        file: str | Path,
        *,
        system: str,
        run: str,
        key: str = "",
        columns: str | Path = "",
        model: bool = False,
        sent: OnSent | None = None,
        **options: str,
    ) -> Submission:
        """Submit a prediction file, or with `model` the tar of a pipeline.

        `options`: team, aggregate, phase, na (place of the negative class among the columns of a score
        file), tags (a JSON object). `columns` is a file with the labels of the columns. `key` is the
        Idempotency-Key; without it one is generated, so that retries do no harm.
        """
        query = {"system": system, "run": run, "filename": Path(file).name} | options
        headers = {"Idempotency-Key": key or str(uuid.uuid4())}
        path = f"benchmarks/{_quote(benchmark)}/{'models' if model else 'submissions'}"
        with _body(file, columns, packed=not model) as (body, content_type):
            headers["Content-Type"] = content_type
            return self._request(path, query, headers=headers, body=body, sent=sent)

    def validate(
        self,
        benchmark: str,
        file: str | Path,
        *,
        columns: str | Path = "",
        sent: OnSent | None = None,
        **options: str,
    ) -> CheckResult:
        """Check a file without storing it or using quota; `options`: phase, na."""
        path = f"benchmarks/{_quote(benchmark)}/check"
        with _body(file, columns) as (body, content_type):
            headers = {"Content-Type": content_type}
            return self._request(path, options, headers=headers, body=body, sent=sent)

    def inputs(self, benchmark: str, *, phase: str = "") -> bytes:
        """Return every line that a file must answer, without gold."""
        path = f"benchmarks/{_quote(benchmark)}/inputs"
        return self._request(path, {"phase": phase}, read=lambda answer: _content(answer, INPUTS_BYTES))

    def cancel(self, submission: int) -> Submission:
        """Cancel a waiting or running submission."""
        return self._change(submission, "cancel")

    def retry(self, submission: int) -> Submission:
        """Restart a failed submission."""
        return self._change(submission, "retry")

    def final(self, submission: int, *, phase: str = "") -> Submission:
        """Choose a scored submission as the final run of its system, or the final entry of its team."""
        values = {"phase": phase} if phase else {}
        return self._post(f"submissions/{submission:d}/final", values)

    def withdraw(self, submission: int) -> Submission:
        """Withdraw a submission from all leaderboards for good."""
        return self._change(submission, "withdraw")

    def limits(self, benchmark: str, *, team: str = "") -> dict[str, Any]:
        """Return the limits on files, and what is left of the team's quotas."""
        return self._request(f"benchmarks/{_quote(benchmark)}/limits", {"team": team})

    def board(self, benchmark: str, *, setting: str = "", order: str = "") -> dict[str, Any]:
        """Return the leaderboard of a setting, by default of the first."""
        query = {"setting": setting, "order": order}
        return self._request(f"benchmarks/{_quote(benchmark)}/board", query)

    def views(self, benchmark: str) -> list[dict[str, Any]]:
        """Return the saved views of a leaderboard: those for everybody, and yours."""
        return self._request(f"benchmarks/{_quote(benchmark)}/views", {})

    def save_view(self, benchmark: str, title: str, query: str, *, shared: bool = False) -> dict[str, Any]:
        """Save columns, filters and order, as in the address of the leaderboard, under a name."""
        values = {"title": title, "query": query.removeprefix("?"), "shared": shared}
        return self._post(f"benchmarks/{_quote(benchmark)}/views", values)

    def open_view(self, benchmark: str, view: int) -> dict[str, Any]:
        """Return the leaderboard as a view shows it."""
        query = next((each["query"] for each in self.views(benchmark) if each["id"] == view), None)
        if query is None:
            raise ServiceError(404, {"code": "not_found", "detail": f"The leaderboard has no view {view}."})
        parameters = urllib.parse.parse_qs(query)
        return self._request(f"benchmarks/{_quote(benchmark)}/view", parameters)

    def delete_view(self, benchmark: str, view: int) -> None:
        """Delete a view of your own, or as organiser one for everybody."""
        path = f"benchmarks/{_quote(benchmark)}/views/{view:d}/remove"
        self._post(path, {}, read=_content)

    def announcements(self, benchmark: str) -> list[dict[str, Any]]:
        """Return what the organisers announced, newest first."""
        return self._request(f"benchmarks/{_quote(benchmark)}/announcements", {})

    def entry(self, benchmark: str) -> dict[str, Any]:
        """Return the terms in force, and the entries of your teams."""
        return self._request(f"benchmarks/{_quote(benchmark)}/entry", {})

    def enter(self, benchmark: str, *, terms: int = 0, team: str = "") -> dict[str, Any]:
        """Take part with a team; `terms` is the version of the terms that it accepts."""
        values = {name: value for name, value in (("team", team), ("terms", terms)) if value}
        return self._post(f"benchmarks/{_quote(benchmark)}/entry", values)

    def set_terms(
        self, benchmark: str, *, text: str | None = None, approval: bool | None = None
    ) -> dict[str, Any]:
        """Put new terms in force, "" for none, and set whether teams are approved; for organisers."""
        values = {"text": text, "approval": approval}
        given = {name: value for name, value in values.items() if value is not None}
        return self._post(f"benchmarks/{_quote(benchmark)}/terms", given)

    def entrants(self, benchmark: str, *, state: str = "") -> list[dict[str, Any]]:
        """Return the teams that take part, by state asked, approved or declined; for organisers."""
        path = f"benchmarks/{_quote(benchmark)}/entrants"
        return self._request(path, {"state": state})

    def decide_team(self, benchmark: str, team: str, *, approve: bool, reason: str = "") -> dict[str, Any]:
        """Approve a team, or decline it with a reason that it reads; for organisers."""
        path = f"benchmarks/{_quote(benchmark)}/entrants/{_quote(team)}"
        return self._post(path, {"approve": approve, "reason": reason})

    def runs(
        self,
        benchmark: str,
        *,
        phase: str = "",
        team: str = "",
        state: str = "",
        since: str = "",
        until: str = "",
    ) -> list[Submission]:
        """List the runs of your teams, or of all as an organiser; `since` and `until` are days."""
        query = {"phase": phase, "team": team, "state": state, "since": since, "until": until}
        query["page_size"] = "200"
        listed, path = [], f"benchmarks/{_quote(benchmark)}/submissions"
        while path:
            page = self._request(path, query)
            listed += page["results"]
            path, query = (page["next"] or "").partition("/api/v1/")[2], {}
        return listed

    def announce(self, benchmark: str, title: str, text: str = "") -> dict[str, Any]:
        """Announce something on the board and in its feed; for organisers."""
        return self._post(f"benchmarks/{_quote(benchmark)}/announcements", {"title": title, "text": text})

    def archive(self, benchmark: str, file: str | Path) -> None:
        """Download all entrants, runs, files and scores as a zip; for organisers."""

        partial = Path(f"{file}.part")  # so that a file of this name is complete

        def save(answer: Any) -> None:
            with partial.open("wb") as target:
                target.writelines(_pieces(answer))
            partial.replace(file)

        self._request(f"benchmarks/{_quote(benchmark)}/archive", {}, read=save)

    def change_items(
        self, project: str, action: str, *, items: Sequence[str] = (), **values: Any
    ) -> dict[str, Any]:
        """Reopen, exclude or include items of a project, or make them gold questions; for curators.

        `filters` are those of the list, for `all=True`; `preview=True` returns the effect, and its `key`.
        """
        filters = values.pop("filters", {})
        path = f"projects/{_quote(project)}/items/bulk"
        return self._post(path, {"action": action, "items": [*items], **values}, filters)

    def _change(self, submission: int, change: str) -> Submission:
        path, body = f"submissions/{submission:d}/{change}", io.BytesIO()
        return self._request(path, {}, body=body, is_repeatable=False)

    def status(self, submission: int, *, wait: int = 0) -> Submission:
        """Return a submission; wait that many seconds for its next change."""
        return self._request(f"submissions/{submission:d}", {"wait": str(wait or "")})

    def watch(self, submission: int) -> Iterator[Submission]:
        """Yield the submission now and after each change, until it has ended."""
        current = self.status(submission)
        yield current
        while current["state"] not in ENDED:
            started = time.monotonic()
            current = self.status(submission, wait=WAIT_SECONDS)
            yield current
            if time.monotonic() - started < 1 and current["state"] not in ENDED:
                time.sleep(1)  # too many clients wait, so the service answered at once

    def scores(self, submission: int, *, version: int = 0) -> Scores:
        """Return the scores under each setting, now or under an earlier version."""
        return self._request(f"submissions/{submission:d}/scores", {"version": str(version or "")})

    def compare(self, benchmark: str, systems: Sequence[str], *, setting: str = "") -> Comparison:
        """Compare systems, named as team/system; wait for tests that were not computed yet."""
        path = f"benchmarks/{_quote(benchmark)}/compare"
        query: dict[str, str | list[str]] = {"setting": setting, "systems": list(systems)}
        comparison: Comparison = self._request(path, query)
        if comparison["state"] not in ("done", *WAITING):
            comparison = self._request(path, query, body=io.BytesIO())
        while comparison["state"] in WAITING:
            time.sleep(1)
            comparison = self._request(path, query)
        return comparison

    def measures(self, benchmark: str) -> list[Measure]:
        """List the measures that members contributed to a benchmark."""
        return self._request(f"benchmarks/{_quote(benchmark)}/measures", {})

    def propose(self, benchmark: str, name: str, *, title: str, composition: Mapping[str, Any]) -> Measure:
        """Propose a measure composed from the menu; a name again makes its next version."""
        values = {"name": name, "title": title, "composition": composition}
        return self._post(f"benchmarks/{_quote(benchmark)}/measures", values)

    def decide(self, benchmark: str, name: str, version: int, *, admit: bool) -> Measure:
        """Admit a measure, which scores every stored run under it, or decline it."""
        path = f"benchmarks/{_quote(benchmark)}/measures/{_quote(name)}/{version:d}"
        return self._post(path, {"admit": admit})

    def retire(self, benchmark: str, name: str, version: int) -> Measure:
        """Take an admitted measure off the boards; its scores stay."""
        path = f"benchmarks/{_quote(benchmark)}/measures/{_quote(name)}/{version:d}/retire"
        return self._post(path, {})

    def _post(
        self,
        path: str,
        values: Mapping[str, Any],
        query: Mapping[str, str] | None = None,
        read: Callable[[Any], Any] = _json,
    ) -> Any:
        body, headers = io.BytesIO(json.dumps(values).encode()), {"Content-Type": "application/json"}
        return self._request(path, query or {}, headers=headers, body=body, read=read, is_repeatable=False)

    def _request(
        self,
        path: str,
        query: Mapping[str, str | list[str]],
        *,
        headers: Mapping[str, str] | None = None,
        body: IO[bytes] | None = None,
        sent: OnSent | None = None,
        read: Callable[[Any], Any] = _json,
        is_repeatable: bool = True,
    ) -> Any:
        """Get, or post the body; retry transient failures.

        A request that is not repeatable, as it would be carried out twice, is sent again only if it was
        rejected before it began.
        """
        transient = TRANSIENT if is_repeatable else NOT_BEGUN
        parameters = urllib.parse.urlencode({k: v for k, v in query.items() if v}, doseq=True)
        address = f"{self.url}/api/v1/{path}" + (f"?{parameters}" if parameters else "")
        all_headers = {"Accept": "application/json", **(headers or {})}
        if self.token:
            all_headers["Authorization"] = f"Bearer {self.token}"
        for attempt in range(TRIES):
            pause = min(0.5 * 2**attempt, MAX_PAUSE_SECONDS)
            try:
                return self._send(address, all_headers, body, sent, read)
            except ServiceError as error:
                pause = pause if error.retry_after is None else error.retry_after
                if error.status not in transient or pause > MAX_PAUSE_SECONDS or attempt == TRIES - 1:
                    raise
            except (OSError, http.client.HTTPException) as error:
                if attempt == TRIES - 1 or not is_repeatable:
                    raise ServiceUnreachable(self.url, error, may_be_done=not is_repeatable) from error
            time.sleep(pause)
        raise AssertionError("the last attempt returns or raises")

    def _send(
        self,
        address: str,
        headers: dict[str, str],
        body: IO[bytes] | None,
        sent: OnSent | None,
        read: Callable[[Any], Any],
    ) -> Any:
        request = urllib.request.Request(address, headers=headers)  # noqa: S310
        if body is not None:  # makes it a POST
            size = body.seek(0, os.SEEK_END)
            body.seek(0)
            request.data = _ReportingFile(body, size, sent)
            request.add_header("Content-Length", str(size))
        try:
            with self._opener.open(request, timeout=TIMEOUT_SECONDS) as response:
                return read(response)
        except urllib.error.HTTPError as error:
            with error:
                raise ServiceError.of(error) from None
        except ValueError as error:  # of an address or a header; those of a reply become UnexpectedReply
            raise WrongArgument(str(error)) from error


def _quote(name: str) -> str:
    return urllib.parse.quote(name, safe="")


@contextmanager
def gzipped(path: str | Path) -> Iterator[IO[bytes]]:
    """Yield the file gzipped on disk: sent again on a retry."""
    with open(path, "rb") as source:
        if source.read(2) == b"\x1f\x8b":
            yield source
            return
        source.seek(0)
        with tempfile.TemporaryFile() as spool:
            with gzip.GzipFile(fileobj=spool, mode="wb", compresslevel=5, mtime=0) as pack:
                shutil.copyfileobj(source, pack, CHUNK_BYTES)
            yield spool


@contextmanager
def _body(
    path: str | Path, columns: str | Path = "", *, packed: bool = True
) -> Iterator[tuple[IO[bytes], str]]:
    """Yield body and type of a request: the file or a form."""
    with gzipped(path) if packed else open(path, "rb") as file:
        if not columns:
            yield file, "application/gzip" if packed else "application/x-tar"
            return
        boundary = uuid.uuid4().hex
        part = f'--{boundary}\r\nContent-Disposition: form-data; name="%s"; filename="%s"\r\n\r\n'
        file.seek(0)
        with open(columns, "rb") as names, tempfile.TemporaryFile() as form:
            for name, content in (("file", file), ("columns", names)):
                form.write((part % (name, name)).encode())
                shutil.copyfileobj(content, form, CHUNK_BYTES)
                form.write(b"\r\n")
            form.write(f"--{boundary}--\r\n".encode())
            yield form, f"multipart/form-data; boundary={boundary}"


# ---- command line --------------------------------------------------------------------------------
def printable(text: object) -> str:
    """Return one line without what could clear or rewrite the terminal: texts are of others."""
    return HIDDEN.sub("", " ".join(str(text).splitlines()))


def write(text: str) -> None:
    """Print a text in one line."""
    sys.stdout.write(f"{printable(text)}\n")


def write_lines(text: str) -> None:
    """Print a text whose line ends are kept."""
    for line in text.split("\n"):
        write(line)


def write_json(value: object) -> None:
    text = json.dumps(value, ensure_ascii=False, indent=2)
    write_lines(HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def draw_bar(title: str, done: int, total: int) -> None:
    """Draw the progress bar, on terminals only."""
    if sys.stderr.isatty():
        full = min(BAR_WIDTH * done // total, BAR_WIDTH) if total else 0
        count = f"{done:,} of {total:,}" if total else ""
        sys.stderr.write(f"\r\033[K{printable(title):<10} [{'█' * full}{'·' * (BAR_WIDTH - full)}] {count}")
        sys.stderr.flush()


def draw_sent(done: int, total: int) -> None:
    draw_bar("sending", done, total)


def clear_bar() -> None:
    if sys.stderr.isatty():
        sys.stderr.write("\r\033[K")


def show_problems(errors: Sequence[FileProblem], count: int) -> None:
    """Print each problem once, with the lines that have it too."""
    alike: dict[str, list[FileProblem]] = {}
    for problem in errors:
        # problems of fields, unlike those of files, come without a message
        message = problem.get("message") or f"{problem.get('field', '')}: {problem.get('expected', '')}"
        same = message.removeprefix(f"Line {problem.get('line', 0):,}")
        alike.setdefault(f"{problem['code']}:{same}", []).append({**problem, "message": message})
    previous = ""
    for first, *others in alike.values():
        write(f"{first['code']}: {first['message']}")
        if others:
            lines = [f"{each.get('line', 0):,}" for each in others[:LINES_NAMED]]
            more = f" and {len(others) - LINES_NAMED:,} more" if len(others) > LINES_NAMED else ""
            write(f"    also in line{'s' * (len(others) > 1)} {', '.join(lines)}{more}")
        example = first.get("example", "")
        if example not in ("", previous):
            write(f"    example: {example}")
        previous = example
    if count > len(errors):
        write(f"… and {count - len(errors):,} more.")


def do_validate(client: Client, arguments: argparse.Namespace) -> int:
    options = {name: getattr(arguments, name) for name in ("phase", "columns", "na")}
    result = client.validate(arguments.board, arguments.file, sent=draw_sent, **options)
    clear_bar()
    show_problems(result["errors"], result["error_count"])
    if result["fits"]:
        counts = ", ".join(f"{n:,} {what}" for what, n in result["counts"].items())
        write(f"Valid: {result['format']}, {result['form']}; {counts}.")
        for note in result.get("notes", []):
            write(f"Warning: {note}")
    return OK if result["fits"] else INVALID


def do_submit(client: Client, arguments: argparse.Namespace) -> int:
    names = ("system", "run", "key", "team", "aggregate", "phase", "columns", "na", "tags", "model")
    options = {name: getattr(arguments, name) for name in names}
    submission = client.submit(arguments.board, arguments.file, sent=draw_sent, **options)
    clear_bar()
    write(f"Submission {submission['id']}: {submission['state']}")
    return follow(client, submission["id"]) if arguments.watch else OK


def do_status(client: Client, arguments: argparse.Namespace) -> int:
    return follow(client, arguments.id) if arguments.watch else write_state(client.status(arguments.id))


def do_change(client: Client, arguments: argparse.Namespace) -> int:
    phase = {"phase": arguments.phase} if arguments.change == "final" else {}
    submission = getattr(client, arguments.change)(arguments.id, **phase)
    write_state(submission)
    return OK


def do_inputs(client: Client, arguments: argparse.Namespace) -> int:
    lines = client.inputs(arguments.board, phase=arguments.phase)
    if sys.stdout.isatty():
        write_lines(lines.decode(errors="replace").rstrip("\n"))
    else:
        sys.stdout.buffer.write(lines)
    return OK


def do_show(client: Client, arguments: argparse.Namespace) -> int:
    """Print what the service answers, as JSON."""
    options = {name: getattr(arguments, name) for name in SHOWS[arguments.show][1]}
    shown = getattr(client, arguments.show)(arguments.board, **options)
    write_json(shown)
    return OK


def do_enter(client: Client, arguments: argparse.Namespace) -> int:
    """Show the terms; with `--accept` and their version, take part."""
    taking_part = client.entry(arguments.board)
    terms = taking_part["terms"]
    if terms and not arguments.accept:
        for entry in taking_part["entries"]:
            write_entry(entry, taking_part)
        if any(entry["terms"] == terms["number"] for entry in taking_part["entries"]):
            return OK
    if terms and arguments.accept != terms["number"]:
        if arguments.accept:
            write(f"Nothing was accepted: version {arguments.accept} of the terms is not in force.")
        write_lines(f"Terms, version {terms['number']}:\n\n{terms['text']}\n")
        write(f"To accept them: enter {arguments.board} --accept {terms['number']}")
        return INVALID
    write_entry(client.enter(arguments.board, terms=arguments.accept, team=arguments.team), taking_part)
    return OK


ENTRY_STATES = {"asked": "waits for the organisers", "approved": "takes part", "declined": "declined"}


def write_entry(entry: Mapping[str, Any], taking_part: Mapping[str, Any]) -> None:
    """Print where a team is: terms to accept, waiting, approved, declined."""
    state = ENTRY_STATES[entry["state"]] if taking_part["approval"] else "takes part"
    if taking_part["terms"] and entry["terms"] != taking_part["terms"]["number"]:
        state = f"has to accept version {taking_part['terms']['number']} of the terms"
    write(f"{entry['team']}: {state}. {entry['reason']}".strip())


def do_terms(client: Client, arguments: argparse.Namespace) -> int:
    """Put the text of a file in force, and set whether teams are approved."""
    text = None if arguments.file is None else Path(arguments.file).read_text(encoding="utf-8")
    approval = {"yes": True, "no": False}.get(arguments.approval)
    found = client.set_terms(arguments.board, text=text, approval=approval)
    terms = found["terms"]
    number = f"version {terms['number']}" if terms else "none"
    write(f"Terms: {number}. Teams are approved: {'yes' if found['approval'] else 'no'}.")
    return OK


def do_decide_team(client: Client, arguments: argparse.Namespace) -> int:
    approve = arguments.decision == "approve"
    reason = "" if approve else arguments.reason
    entrant = client.decide_team(arguments.board, arguments.team, approve=approve, reason=reason)
    write(f"{entrant['team']}: {entrant['state']}. {entrant['reason']}".strip())
    return OK


def do_announce(client: Client, arguments: argparse.Namespace) -> int:
    announcement = client.announce(arguments.board, arguments.title, arguments.text)
    write(f"Announcement {announcement['id']}: {announcement['title']}")
    return OK


def do_view(client: Client, arguments: argparse.Namespace) -> int:
    """Save, open or delete a view."""
    if arguments.change == "save-view":
        view = client.save_view(
            arguments.board, arguments.title, arguments.query, shared=arguments.for_everybody
        )
        write(f"View {view['id']}: {view['address']}")
    elif arguments.change == "open-view":
        write_json(client.open_view(arguments.board, arguments.id))
    else:
        client.delete_view(arguments.board, arguments.id)
        write(f"View {arguments.id} is deleted.")
    return OK


def do_archive(client: Client, arguments: argparse.Namespace) -> int:
    client.archive(arguments.board, arguments.file)
    return OK


def do_scores(client: Client, arguments: argparse.Namespace) -> int:
    scores = client.scores(arguments.id, version=arguments.version)
    if arguments.json:
        write_json(scores)
    else:
        show_scores(scores)
    return OK if scores["evaluations"] or scores["sealed"] else INVALID


def do_compare(client: Client, arguments: argparse.Namespace) -> int:
    comparison = client.compare(arguments.board, arguments.system, setting=arguments.setting)
    if arguments.json:
        write_json(comparison)
    else:
        for sentence in (*comparison["sentences"], *(each["sentence"] for each in comparison["joint"])):
            write(sentence)
        for test in comparison["tests"]:
            write(f"{test['title']:<28} {test['a']} − {test['b']}: {in_words(test)}")
        write(comparison["reason"] or comparison["method"])
    return OK if comparison["state"] == "done" else INVALID


def in_words(test: Mapping[str, Any]) -> str:
    """Describe a test: difference, interval and p after Holm, or the reason without one."""
    shown = "–" if test["difference"] is None else f"{test['difference']:+.4f}"
    if test["reason"] or test["low"] is None:
        return f"{shown}, no test: {test['reason']}"
    size = f", d {test['d']:.2f} {test['word']}" if test["d"] is not None else ""
    return f"{shown}, {test['low']:+.4f} to {test['high']:+.4f}, p (Holm) {test['p_holm_text']}{size}"


def show_scores(scores: Scores) -> None:
    if not scores["evaluations"] and not scores["sealed"]:
        write(f"Submission {scores['submission']} is {scores['state']} and has no scores.")
    for evaluation in scores["evaluations"]:
        setting, available = evaluation["setting"], scores["versions"].get(evaluation["setting"], [])
        used, all_versions = (", ".join(map(str, these)) for these in (evaluation["versions"], available))
        write(setting + (f" (version {used}; available: {all_versions})" if len(available) > 1 else ""))
        write(f"  {evaluation.get('computed', '')}")
        for measure, score in sorted(evaluation["scores"].items()):
            value, title = score["value"], evaluation.get("titles", {}).get(measure, "")
            shown = f"– {score.get('reason', '')}" if value is None else f"{value:.6g}"
            write(f"  {measure:<28} {shown:<10} {title}".rstrip())
    for setting in scores["sealed"]:
        write(f"{setting}: sealed until it closes")
    for setting in scores["not_covered"]:
        write(f"{setting}: not scored, because its gold changed after this submission")


def follow(client: Client, submission: int) -> int:
    """Show the progress of a submission until it has ended."""
    previous = ""
    for current in client.watch(submission):
        progress = current["progress"]
        if progress and current["state"] == "running":
            draw_bar(progress["step"] or "running", progress["done"], progress["total"])
        elif current["state"] != previous and current["state"] not in ENDED:
            write(current["state"])
        previous = current["state"]
    clear_bar()
    code = write_state(current)
    if code == OK:
        show_scores(client.scores(submission))
    return code


def write_state(submission: Submission) -> int:
    """Print the state with its reason; return the exit code."""
    reason = f": {submission['reason']} ({submission['reason_code']})" if submission["reason"] else ""
    state = submission["state"]
    if (phases := submission.get("final_in")) is not None:
        in_phases = f" in {' and '.join(phases)}" if any(phases) else ""
        state += f", final run{in_phases}" if phases else ""
    state += ", withdrawn" if submission.get("withdrawn_at") else ""
    write(f"Submission {submission['id']}: {state}{reason}")
    return INVALID if submission["state"] in ENDED - {"scored"} else OK


def add_for_board(
    commands: Any, name: str, title: str, do: Callable[..., int], **more: str
) -> argparse.ArgumentParser:
    """Add a command whose first argument is a board."""
    added: argparse.ArgumentParser = commands.add_parser(name, help=title)
    added.add_argument("board", help="slug of the benchmark")
    added.set_defaults(do=do, **more)
    return added


def add_compare(commands: Any) -> None:
    compare = add_for_board(commands, "compare", "compare systems of a board, and test them", do_compare)
    compare.add_argument("system", nargs="+", help="2 to 10 systems, each as team/system")
    compare.add_argument("--setting", default="", help="key of the setting; default: the first")
    compare.add_argument("--json", action="store_true")


# ---- contributed measures ------------------------------------------------------------------------
DECISIONS = {
    "admit": "admit a contributed measure, which scores every stored run under it",
    "decline": "decline a contributed measure",
    "retire": "remove an admitted measure from the boards; its scores stay",
}


def write_measure(measure: Measure) -> None:
    """Print a measure with the progress of its batch."""
    progress, state = measure["progress"], measure["state"]
    if progress and not measure["complete"]:
        state += f", {progress['scored']:,} of {progress['total']:,} scored"
    write(f"{measure['name']} {measure['version']}: {measure['title']} ({state})")
    write(f"  {measure['formula']}")


def do_measures(client: Client, arguments: argparse.Namespace) -> int:
    measures = client.measures(arguments.board)
    if arguments.json:
        write_json(measures)
        return OK
    for measure in measures:
        write_measure(measure)
    return OK


def do_propose(client: Client, arguments: argparse.Namespace) -> int:
    try:
        composition = json.loads(arguments.composition)
    except ValueError as error:
        raise WrongArgument(f"The composition is not JSON: {error}.") from None
    title = arguments.title or arguments.name
    write_measure(client.propose(arguments.board, arguments.name, title=title, composition=composition))
    return OK


def do_decide(client: Client, arguments: argparse.Namespace) -> int:
    """Admit, decline or retire a version, by default the newest; wait for the batch if asked to."""
    board, name, version = arguments.board, arguments.name, arguments.version
    of_name = [each["version"] for each in client.measures(board) if each["name"] == name]
    version = version or max(of_name, default=1)
    if arguments.decision == "retire":
        write_measure(client.retire(board, name, version))
        return OK
    measure = client.decide(board, name, version, admit=arguments.decision == "admit")
    while getattr(arguments, "watch", False) and measure["state"] == "admitted" and not measure["complete"]:
        progress = measure["progress"] or {"scored": 0, "total": 0}
        draw_bar("scoring", progress["scored"], progress["total"])
        time.sleep(1)
        key = measure["key"]
        measure = next(each for each in client.measures(board) if each["key"] == key)
    clear_bar()
    write_measure(measure)
    return OK


def add_measures(commands: Any) -> None:
    listed = add_for_board(commands, "measures", "list the measures contributed to a board", do_measures)
    listed.add_argument("--json", action="store_true")
    propose = add_for_board(commands, "propose", "propose a measure composed from the menu", do_propose)
    decide = [
        add_for_board(commands, key, title, do_decide, decision=key) for key, title in DECISIONS.items()
    ]
    for each in (propose, *decide):
        each.add_argument("name", help="name of the measure, such as places_f2")
    propose.add_argument("composition", help='its parts as JSON, such as {"base": "conll", "beta": 2}')
    propose.add_argument("--title", default="", help="heading of its column; default: the name")
    for each in decide:
        each.add_argument("--version", type=int, default=0, help="default: the newest")
    decide[0].add_argument("--watch", action="store_true", help="wait until every run is scored under it")


SHOWS = {  # title and options
    "limits": ("show the limits on files, and what is left of your quotas", ["team"]),
    "board": ("show the leaderboard", ["setting", "order"]),
    "views": ("list the saved views of a leaderboard", []),
    "announcements": ("show what the organisers announced", []),
    "runs": (
        "list the runs of your teams, or of all as organiser",
        ["phase", "team", "state", "since", "until"],
    ),
    "entrants": ("list the teams that take part, as their organiser", ["state"]),
}
CHANGES = {
    "cancel": "stop a waiting or running submission",
    "retry": "restart a failed submission",
    "final": "choose a scored run as the final one of its system, or of its team",
    "withdraw": "remove a submission from all leaderboards permanently",
}


def add_changes(commands: Any) -> None:
    """Add what changes a submission."""
    for change, title in CHANGES.items():
        each = commands.add_parser(change, help=title)
        each.add_argument("id", type=int)
        each.set_defaults(do=do_change, change=change)
        if change == "final":
            each.add_argument(
                "--phase", default="", choices=["", "dev", "test"], help="default: all that have not ended"
            )


def add_views(commands: Any) -> None:
    """Add what is done with saved views, but for their list."""
    title = "save columns, filters and order of a leaderboard"
    save = add_for_board(commands, "save-view", title, do_view, change="save-view")
    save.add_argument("title")
    save.add_argument("query", help="from the address of the leaderboard, such as order=macro_f1")
    save.add_argument("--for-everybody", action="store_true", help="for everybody, as organiser")
    for change, title in (
        ("open-view", "show a leaderboard as saved"),
        ("delete-view", "delete a saved view"),
    ):
        add_for_board(commands, change, title, do_view, change=change).add_argument("id", type=int)


def add_shared_task(commands: Any) -> None:
    """Add what teams and organisers of a shared task do besides runs."""
    for show, (title, options) in SHOWS.items():
        each = add_for_board(commands, show, title, do_show, show=show)
        for option in options:
            each.add_argument(f"--{option}", default="")
    enter = add_for_board(commands, "enter", "show the terms of a benchmark, and take part", do_enter)
    enter.add_argument("--accept", type=int, default=0, metavar="N", help="version of the terms you accept")
    enter.add_argument("--team", default="", help="slug of the team, if you have several")
    title = "download all runs of a benchmark, as its organiser"
    add_for_board(commands, "archive", title, do_archive).add_argument("file", help="the zip to write")
    terms = add_for_board(commands, "terms", "set the terms of a benchmark, as its organiser", do_terms)
    terms.add_argument("file", nargs="?", help="the terms in Markdown; an empty file: none")
    terms.add_argument("--approval", default="", choices=["", "yes", "no"], help="approve each team first")
    for decision, title in (("approve", "approve a team"), ("turn-down", "decline a team")):
        each = add_for_board(commands, decision, f"{title}, as organiser", do_decide_team, decision=decision)
        each.add_argument("team", help="slug of the team")
    each.add_argument("--reason", required=True, help="the team reads it")
    title = "announce something on a board, as its organiser"
    announce = add_for_board(commands, "announce", title, do_announce)
    announce.add_argument("title")
    announce.add_argument("--text", default="", help="Markdown")


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="evalsvc_client.py", description="Submit runs and read their scores.")
    top.add_argument("--url", default="", help="address of the service; default: EVALSVC_URL")
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    submit = add_for_board(commands, "submit", "submit a file as a run of a system", do_submit)
    validate = add_for_board(commands, "validate", "check a file without submitting it", do_validate)
    inputs = add_for_board(commands, "inputs", "download the lines that a file must answer", do_inputs)
    for each in (submit, validate, inputs):
        each.add_argument("--phase", default="", choices=["", "dev", "test", "both"])
    for each in (submit, validate):
        each.add_argument("file")
        each.add_argument(
            "--columns", default="", metavar="FILE", help="labels of the columns of a score file"
        )
        each.add_argument(
            "--na", default="", choices=["", *NA_PLACES], help="column of the negative class in it"
        )
    submit.add_argument("--system", required=True)
    submit.add_argument("--run", required=True, help="name of the run, for example the seed")
    submit.add_argument("--team", default="", help="slug of the team, if you are in several")
    submit.add_argument("--aggregate", default="", choices=["", "ONE", "AVG"])
    submit.add_argument("--tags", default="", help="declarations, as a JSON object")
    submit.add_argument("--model", action="store_true", help="the file is a spaCy pipeline as a tar")
    submit.add_argument("--key", default="", help="Idempotency-Key; default: generated")
    status = commands.add_parser("status", help="show the state of a submission")
    scores = commands.add_parser("scores", help="show the scores of a submission")
    add_compare(commands)
    add_measures(commands)
    add_shared_task(commands)
    add_views(commands)
    add_changes(commands)
    for each in (status, scores):
        each.add_argument("id", type=int)
    for each in (submit, status):
        each.add_argument("--watch", action="store_true", help="wait until it has ended")
    scores.add_argument(
        "--version", type=int, default=0, help="version of the setting; default: the newest scored"
    )
    scores.add_argument("--json", action="store_true")
    status.set_defaults(do=do_status)
    scores.set_defaults(do=do_scores)
    return top


def run(arguments: argparse.Namespace) -> int:
    """Run a command; print why the service rejects it."""
    try:
        code = int(arguments.do(Client(arguments.url), arguments))
        sys.stdout.flush()
        return code
    except ServiceError as error:
        clear_bar()
        sys.stderr.write(f"{printable(error.code)}: {printable(error)}\n")
        if error.status != 422:  # the error names the fields that are wrong
            return REJECTED
        show_problems(error.errors, error.error_count)
        return INVALID


def main(words: Sequence[str] | None = None) -> int:
    """Run a command with the token from EVALSVC_TOKEN."""
    arguments = parser().parse_args(words)
    try:
        return run(arguments)
    except KeyboardInterrupt:
        clear_bar()
        sys.stderr.write("Stopped. The submission continues; follow it with status ID --watch.\n")
        return STOPPED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that the flush at exit succeeds
        return CLOSED_PIPE
    except FileNotFoundError as error:
        sys.stderr.write(f"There is no file {error.filename}.\n")
        return 2
    except (ServiceUnreachable, UnexpectedReply, OSError, UnicodeError, WrongArgument) as error:
        clear_bar()
        sys.stderr.write(f"{printable(error)}\n")
        return UNREACHABLE if isinstance(error, ServiceUnreachable | UnexpectedReply) else 2
    except UNEXPECTED as error:
        clear_bar()
        sys.stderr.write(f"The reply of the service is unexpected ({type(error).__name__}).\n")
        return UNREACHABLE


if __name__ == "__main__":
    sys.exit(main())
