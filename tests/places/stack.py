"""Room on the interpreter's stack, so that no test maps and unmaps memory at every other call.

CPython keeps the frames of calls in blocks of 16 KB. A block is mapped when a call goes beyond the one
before, and unmapped when that call returns; deep inside a test runner and a dozen layers of middleware, a
loop that crosses the border took a third of the time of a crawl. A frame as large as this one gets a block
of 1 MB, whose other half holds the frames of all calls from it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

WORDS = 2**16


def with_room(call: Callable[..., Any], *args: Any) -> Any:
    return call(*args)


with_room.__code__ = with_room.__code__.replace(co_stacksize=WORDS)
