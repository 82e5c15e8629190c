"""A client for evalsvc in one file that needs nothing but Python 3.11: as a module and as a program.

    export EVALSVC_URL=https://… EVALSVC_TOKEN=evs_…
    python evalsvc_client.py validate BOARD FILE
    python evalsvc_client.py submit BOARD FILE --system "My net" --run 1 --watch
    python evalsvc_client.py status ID --watch
    python evalsvc_client.py scores ID

The program ends with 0 when all is well; 1 when the file does not fit or the submission ended without
scores; 2 when it was called in a wrong way; 3 when the service refused; 4 when it could not be reached.
"""

from __future__ import annotations

import argparse
import gzip
import http.client
import json
import os
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
WELL, UNFIT, REFUSED, UNREACHED = 0, 1, 3, 4
STOPPED, CLOSED_PIPE = 130, 141  # as a shell tells of them
TRIES = 6
LONGEST_PAUSE = 120  # seconds; whoever is told to wait longer is told so instead
PASSING = frozenset({429, 502, 503, 504})
TIMEOUT = 60
WAIT = 20
STEP = 1 << 16
BAR = 30
Sent = Callable[[int, int], None]


class Progress(TypedDict):
    attempt: int
    done: int
    total: int
    step: str


class Submission(TypedDict):
    """What the service says of a submission; the API's description names every key."""

    id: int
    status_url: str
    benchmark: str
    team: str
    system: str
    run: str
    state: str
    reason: str
    reason_code: str
    progress: Progress | None


class Line(TypedDict):
    """One problem of a file."""

    code: str
    message: str
    line: NotRequired[int]
    field: NotRequired[str]
    found: NotRequired[str]
    expected: NotRequired[str]
    hint: NotRequired[str]
    example: NotRequired[str]


class Checked(TypedDict):
    fits: bool
    format: str
    form: str
    counts: dict[str, int]
    error_count: int
    errors: list[Line]
    errors_by_code: dict[str, int]
    warnings: dict[str, int]


class Score(TypedDict):
    value: float | None
    reason: NotRequired[str]


class Evaluation(TypedDict):
    setting: str
    versions: list[int]
    scores: dict[str, Score]


class Scores(TypedDict):
    submission: int
    state: str
    evaluations: list[Evaluation]
    versions: dict[str, list[int]]
    sealed: list[str]
    not_covered: list[str]


class Refusal(Exception):
    """The service said no; `status` and `code` are for programs, the text is for people."""

    def __init__(self, status: int, body: Mapping[str, Any], retry_after: float | None = None) -> None:
        self.status, self.retry_after = status, retry_after
        self.code: str = body.get("code", "error")
        self.errors: list[Line] = body.get("errors", [])
        self.error_count: int = body.get("error_count", len(self.errors))
        told = body.get("detail") or f"The service answered {status}."
        super().__init__(" ".join(filter(None, [told, body.get("hint")])))


class Unreached(Exception):
    """No answer, however often it was tried."""


class _Stay(urllib.request.HTTPRedirectHandler):
    """A redirect is an answer: the token goes to the address it was given for and to no other."""

    def redirect_request(self, *args: Any, **more: Any) -> None:
        return None


class _Counted:
    """A file that tells how much of it was read."""

    def __init__(self, file: IO[bytes], size: int, sent: Sent | None) -> None:
        self.file, self.size, self.sent = file, size, sent

    def read(self, most: int = -1) -> bytes:
        piece = self.file.read(most)
        if self.sent and piece:
            self.sent(self.file.tell(), self.size)
        return piece


class Client:
    """One service, asked with one token."""

    def __init__(self, url: str = "", token: str = "") -> None:
        """Without arguments both come from EVALSVC_URL and EVALSVC_TOKEN."""
        self.url = (url or os.environ.get("EVALSVC_URL", "http://127.0.0.1:8000")).rstrip("/")
        if not self.url.startswith(("http://", "https://")):
            raise ValueError(f"{self.url} is no address of a service. Expected http://… or https://….")
        self.token = token or os.environ.get("EVALSVC_TOKEN", "")
        self._opener = urllib.request.build_opener(_Stay)

    def submit(
        self,
        benchmark: str,
        file: str | Path,
        *,
        system: str,
        run: str,
        key: str = "",
        sent: Sent | None = None,
        **said: str,
    ) -> Submission:
        """Send a file as a run of a system. `said`: team, aggregate, phase, tags (a JSON object).

        `key` is the Idempotency-Key; one is made when there is none, so that trying again is harmless.
        """
        told = {"system": system, "run": run, "filename": Path(file).name} | said
        headers = {"Idempotency-Key": key or str(uuid.uuid4())}
        path = f"benchmarks/{_part(benchmark)}/submissions"
        with packed(file) as body:
            found: Submission = self._ask("POST", path, told, headers=headers, body=body, sent=sent)
        return found

    def validate(
        self, benchmark: str, file: str | Path, *, phase: str = "", sent: Sent | None = None
    ) -> Checked:
        """Have a file checked; nothing is kept, and it costs nothing."""
        with packed(file) as body:
            path = f"benchmarks/{_part(benchmark)}/check"
            checked: Checked = self._ask("POST", path, {"phase": phase}, body=body, sent=sent)
        return checked

    def status(self, submission: int, *, wait: int = 0) -> Submission:
        """Where a submission is; with `wait`, as soon as that changes or after so many seconds."""
        asked = {"wait": str(wait) if wait else ""}
        found: Submission = self._ask("GET", f"submissions/{submission:d}", asked)
        return found

    def watch(self, submission: int) -> Iterator[Submission]:
        """Its status now and whenever the service tells more, until it has ended."""
        found = self.status(submission)
        yield found
        while found["state"] not in ENDED:
            asked_at = time.monotonic()
            found = self.status(submission, wait=WAIT)
            yield found
            if time.monotonic() - asked_at < 1 and found["state"] not in ENDED:
                time.sleep(1)  # the service has too many who wait, and answers at once

    def scores(self, submission: int, *, version: int = 0) -> Scores:
        """Its scores under each setting: those that hold now, or those of an earlier version."""
        asked = {"version": str(version) if version else ""}
        found: Scores = self._ask("GET", f"submissions/{submission:d}/scores", asked)
        return found

    def _ask(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        body: IO[bytes] | None = None,
        sent: Sent | None = None,
    ) -> Any:
        """Ask, and ask again where that may help; every request made here may be sent twice."""
        given = urllib.parse.urlencode({name: value for name, value in (query or {}).items() if value})
        address = f"{self.url}/api/v1/{path}" + (f"?{given}" if given else "")
        for attempt in range(TRIES):
            pause = min(0.5 * 2**attempt, LONGEST_PAUSE)
            try:
                return self._once(method, address, headers or {}, body, sent)
            except Refusal as refusal:
                pause = pause if refusal.retry_after is None else refusal.retry_after
                if refusal.status not in PASSING or pause > LONGEST_PAUSE or attempt == TRIES - 1:
                    raise
            except (OSError, http.client.HTTPException) as error:
                if attempt == TRIES - 1:
                    raise Unreached(f"{self.url} can't be reached: {_why(error)}.") from error
            time.sleep(pause)
        raise AssertionError("every last try returns or raises")

    def _once(
        self, method: str, address: str, headers: Mapping[str, str], body: IO[bytes] | None, sent: Sent | None
    ) -> Any:
        told = {"Accept": "application/json", **headers}
        if self.token:
            told["Authorization"] = f"Bearer {self.token}"
        data: Any = None
        if body is not None:
            size = body.seek(0, os.SEEK_END)
            body.seek(0)
            told |= {"Content-Type": "application/gzip", "Content-Length": str(size)}
            data = _Counted(body, size, sent)
        asked = urllib.request.Request(address, data=data, headers=told, method=method)  # noqa: S310
        try:
            with self._opener.open(asked, timeout=TIMEOUT) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            with error:
                raise _refusal(error) from None


def _why(error: Exception) -> str:
    """What the system says of it, without what programs call it."""
    reason = getattr(error, "reason", error)
    return str(getattr(reason, "strerror", None) or reason or type(error).__name__).strip(".").lower()


def _part(name: str) -> str:
    return urllib.parse.quote(name, safe="")


def _refusal(error: urllib.error.HTTPError) -> Refusal:
    """What the answer says; a proxy between may answer without a problem."""
    try:
        body = json.loads(error.read())
    except ValueError:
        body = {}
    after = error.headers.get("Retry-After") or ""
    return Refusal(
        error.code, body if isinstance(body, dict) else {}, float(after) if after.isdecimal() else None
    )


@contextmanager
def packed(path: str | Path) -> Iterator[IO[bytes]]:
    """The file as gzip; packed on disk, so that its length is known and it can be sent again."""
    with open(path, "rb") as source:
        if source.read(2) == b"\x1f\x8b":
            yield source
            return
        source.seek(0)
        with tempfile.TemporaryFile() as spool:
            with gzip.GzipFile(fileobj=spool, mode="wb", compresslevel=5, mtime=0) as pack:
                shutil.copyfileobj(source, pack, STEP)
            yield spool


# ---- the program ---------------------------------------------------------------------------------
def say(text: str = "") -> None:
    sys.stdout.write(f"{text}\n")


def bar(title: str, done: int, total: int) -> None:
    """One line that is written over; only where somebody looks."""
    if sys.stderr.isatty():
        full = BAR * done // total if total else 0
        count = f"{done:,} of {total:,}" if total else ""
        sys.stderr.write(f"\r\033[K{title:<10} [{'█' * full}{'·' * (BAR - full)}] {count}")
        sys.stderr.flush()


def bar_ends() -> None:
    if sys.stderr.isatty():
        sys.stderr.write("\r\033[K")


def show_problems(errors: Sequence[Line], count: int) -> None:
    shown = ""
    for each in errors:
        say(f"{each['code']}: {each['message']}")
        example = each.get("example", "")
        if example and example != shown:
            say(f"    like this: {example}")
        shown = example
    if count > len(errors):
        say(f"… and {count - len(errors):,} more.")


def do_validate(client: Client, asked: argparse.Namespace) -> int:
    checked = client.validate(
        asked.board, asked.file, phase=asked.phase, sent=lambda done, total: bar("sending", done, total)
    )
    bar_ends()
    show_problems(checked["errors"], checked["error_count"])
    if checked["fits"]:
        counts = ", ".join(f"{n:,} {what}" for what, n in checked["counts"].items())
        say(f"It fits: {checked['format']}, {checked['form']}; {counts}.")
    return WELL if checked["fits"] else UNFIT


def do_submit(client: Client, asked: argparse.Namespace) -> int:
    names = ("team", "aggregate", "phase", "tags")
    said = {name: getattr(asked, name) for name in names}
    found = client.submit(
        asked.board,
        asked.file,
        system=asked.system,
        run=asked.run,
        key=asked.key,
        sent=lambda done, total: bar("sending", done, total),
        **said,
    )
    bar_ends()
    say(f"Submission {found['id']}: {found['state']}")
    return follow(client, found["id"]) if asked.watch else WELL


def do_status(client: Client, asked: argparse.Namespace) -> int:
    if asked.watch:
        return follow(client, asked.id)
    return ending(client.status(asked.id))


def do_scores(client: Client, asked: argparse.Namespace) -> int:
    told = client.scores(asked.id, version=asked.version)
    if asked.json:
        say(json.dumps(told, ensure_ascii=False, indent=2))
    else:
        show_scores(told)
    return WELL if told["evaluations"] or told["sealed"] else UNFIT


def show_scores(told: Scores) -> None:
    if not told["evaluations"] and not told["sealed"]:
        say(f"Submission {told['submission']} is {told['state']} and has no scores.")
    for evaluation in told["evaluations"]:
        say(evaluation["setting"] + _among(evaluation, told))
        for measure, score in sorted(evaluation["scores"].items()):
            value = score["value"]
            say(
                f"  {measure:<28} "
                + (f"{value:.6g}" if value is not None else f"– {score.get('reason', '')}")
            )
    for setting in told["sealed"]:
        say(f"{setting}: shown once its phase has closed")
    for setting in told["not_covered"]:
        say(f"{setting}: not scored, its gold changed after this file was sent")


def _among(evaluation: Evaluation, told: Scores) -> str:
    """Which version's scores these are, where there are those of several."""
    mine, all_of_it = evaluation["versions"], told["versions"].get(evaluation["setting"], [])
    if len(all_of_it) < 2:
        return ""
    return f" (version {', '.join(map(str, mine))}; there are scores of {', '.join(map(str, all_of_it))})"


def follow(client: Client, submission: int) -> int:
    """Show the way of a submission until it has ended."""
    before = ""
    for found in client.watch(submission):
        progress = found["progress"]
        if progress and found["state"] == "running":
            bar(progress["step"] or "running", progress["done"], progress["total"])
        elif found["state"] != before and found["state"] not in ENDED:
            say(found["state"])
        before = found["state"]
    bar_ends()
    code = ending(found)
    if code == WELL:
        show_scores(client.scores(submission))
    return code


def ending(found: Submission) -> int:
    """Say the state, and why when it is not a good one."""
    why = f": {found['reason']} ({found['reason_code']})" if found["reason"] else ""
    say(f"Submission {found['id']}: {found['state']}{why}")
    return UNFIT if found["state"] in ENDED - {"scored"} else WELL


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="evalsvc_client.py", description="Submit runs and read their scores.")
    top.add_argument("--url", default="", help="where the service is; else EVALSVC_URL")
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    submit = commands.add_parser("submit", help="send a file as a run of a system")
    validate = commands.add_parser("validate", help="have a file checked; nothing is kept")
    for each in (submit, validate):
        each.add_argument("board", help="slug of the benchmark")
        each.add_argument("file")
        each.add_argument("--phase", default="", choices=["", "dev", "test"])
    submit.add_argument("--system", required=True)
    submit.add_argument("--run", required=True, help="its name, such as the seed")
    submit.add_argument("--team", default="", help="slug; for people in several teams")
    submit.add_argument("--aggregate", default="", choices=["", "ONE", "AVG"])
    submit.add_argument("--tags", default="", help="a JSON object: what the team declares")
    submit.add_argument("--key", default="", help="Idempotency-Key; made anew when there is none")
    status = commands.add_parser("status", help="where a submission is")
    scores = commands.add_parser("scores", help="its scores under each setting")
    for each in (status, scores):
        each.add_argument("id", type=int)
    for each in (submit, status):
        each.add_argument("--watch", action="store_true", help="stay until it has ended")
    scores.add_argument(
        "--version", type=int, default=0, help="of the setting; else the newest that is scored"
    )
    scores.add_argument("--json", action="store_true")
    for each, do in ((submit, do_submit), (validate, do_validate), (status, do_status), (scores, do_scores)):
        each.set_defaults(do=do)
    return top


def main(words: Sequence[str] | None = None) -> int:
    """Run the program; the token comes from EVALSVC_TOKEN, never from the command line."""
    asked = parser().parse_args(words)
    try:
        code = int(asked.do(Client(asked.url), asked))
        sys.stdout.flush()
        return code
    except Refusal as refusal:
        bar_ends()
        sys.stderr.write(f"{refusal.code}: {refusal}\n")
        show_problems(refusal.errors, refusal.error_count)
        return UNFIT if refusal.status == 422 else REFUSED
    except KeyboardInterrupt:
        bar_ends()
        sys.stderr.write("Stopped here. What was submitted goes on: status ID --watch follows it.\n")
        return STOPPED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nothing is left to flush at the end
        return CLOSED_PIPE
    except FileNotFoundError as error:
        sys.stderr.write(f"There is no file {error.filename}.\n")
        return 2
    except (Unreached, OSError, ValueError) as error:
        bar_ends()
        sys.stderr.write(f"{error}\n")
        return UNREACHED if isinstance(error, Unreached) else 2


if __name__ == "__main__":
    sys.exit(main())
