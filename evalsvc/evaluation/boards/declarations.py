"""Tags that teams declared with the runs of a board, read when first asked for."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec
from django.db.models import Q, QuerySet, TextField
from django.db.models.functions import Cast, Now

from evalsvc.core.web.formatting import INNER_QUOTES
from evalsvc.core.web.text_validation import is_web_address
from evalsvc.evaluation.models import LINKS, SettingVersion, Submission, by_name


class Declared(NamedTuple):
    """Tags by name, and addresses among them; never changed, as a process keeps them."""

    tags: Mapping[str, Any]
    links: Mapping[str, str]

    @property
    def texts(self) -> list[str]:
        """Tags as boards show them, without the description and links."""
        shown = [(key, value) for key, value in self.tags.items() if value not in (False, None, "")]
        shown = [(key, value) for key, value in shown if key != "description" and key not in self.links]
        texts = (str(key) if value is True else f"{key}: {value}" for key, value in shown)
        return [text.translate(INNER_QUOTES) for text in texts]


@lru_cache(maxsize=2_000)
def _declared(tags: str) -> Declared:
    """Return the tags in a text."""
    return _of(msgspec.json.decode(tags))


def _of(tags: dict[str, Any]) -> Declared:
    """Return tags in their order; only organisers name a baseline."""
    whole = by_name(tags)
    whole.pop("baseline", None)
    return Declared(whole, {key: whole[key] for key in LINKS if is_web_address(whole.get(key))})


NOTHING = Declared({}, {})


class Declarations:
    """Tags of the systems of a board: those of the newest of its runs that declares any.

    Paper and code may also come from a later run, of which readers see figures on another board. What a run
    declares that is sealed, waits or was withdrawn would reveal it.
    """

    def __init__(self, version: SettingVersion) -> None:
        self._version = version
        self._known: dict[int, Declared] = {}
        self._is_whole = False

    def __getitem__(self, system: int) -> Declared:
        if system not in self._known and not self._is_whole:
            self._read(self._runs())
            self._is_whole = True
        return self._known.get(system, NOTHING)

    def load(self, systems: Collection[int]) -> None:
        """Read those of some systems alone."""
        self._known |= dict.fromkeys(systems, NOTHING)
        self._read(self._runs().filter(system__in=systems))

    def _runs(self) -> QuerySet[Submission]:
        """Return the runs with tags of which anybody, or the readers of this board, see figures."""
        setting = self._version.setting
        shown = Q(evaluations__setting=setting) | Q(evaluations__setting__sealed=False)
        shown |= Q(evaluations__setting__closes_at__lte=Now())
        runs = Submission.objects.filter(shown, withdrawn_at=None, scored_at__isnull=False)
        return runs.filter(benchmark=setting.benchmark_id).exclude(tags={}).order_by("pk")

    def _read(self, runs: QuerySet[Submission]) -> None:
        """Take the newest tags under this version of each system, and links that these lack."""
        here = [self._version.setting_id, self._version.gold_sha256]
        own, links = dict[int, Declared](), dict[int, dict[str, str]]()
        gold = ("evaluations__setting", "evaluations__gold_sha256")
        for system, text, *scored in runs.values_list("system", Cast("tags", TextField()), *gold):
            tags = _declared(text)
            links.setdefault(system, {}).update(tags.links)
            if scored == here:
                own[system] = tags
        for system, later in links.items():
            tags = own.get(system, NOTHING)
            missing = {key: address for key, address in later.items() if key not in tags.tags}
            self._known[system] = _of({**missing, **tags.tags}) if missing else tags
