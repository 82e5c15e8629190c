"""Table of the items that a search finds, for curators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from annotation.consensus.choices import choices_of
from annotation.models import Item, Project
from annotation.reports import item_history, item_search
from annotation.reports.item_order import ItemFilters
from annotation.roles import CURATOR, require
from annotation.testset import Kind
from evalsvc.core.accounts.models import User
from evalsvc.core.formats.label_mapping import Payload

HEADS = (
    *("id", "text", "head", "tail", "use", "state", "votes", "outcome", "answers"),
    *("n_answers", "n_comments", "n_flags"),
)
SIZE, SIZE_OF_SPANS, MAX_WORDS = 200, 20, 80  # items a read, with spans; characters of a span


def rows(
    project: Project, filters: ItemFilters, *, for_user: User, order: str = ""
) -> Iterator[tuple[object, ...]]:
    """Return the rows of all matching items, read in parts."""
    require(project, for_user, CURATOR)
    return _rows(project, filters, for_user, order)


def _rows(project: Project, filters: ItemFilters, user: User, order: str) -> Iterator[tuple[object, ...]]:
    after: Item | None = None
    size = SIZE if project.kind == Kind.RELATIONS else SIZE_OF_SPANS
    while True:
        page = item_search.search(
            project, filters, for_user=user, order=order, after=after, size=size, begun=True
        )
        answers = item_history.answers_of(project, page.items)
        remarks = item_history.remark_counts(page.items)
        for item in page.items:
            counting = [row.payload for row in answers[item.pk] if not row.answer.set_aside]
            chosen = [choices_of(payload) for payload in counting]
            payloads = dict(zip(chosen, counting, strict=True))
            numbers = Counter(chosen).most_common()
            yield (
                item.external_id,
                item.text,
                (item.head or {}).get("name", ""),
                (item.tail or {}).get("name", ""),
                item.use,
                item.state,
                item.pattern,
                "" if item.gold is None else _labels(item, item.gold),
                " · ".join(f"{n} {_labels(item, payloads[choices])}" for choices, n in numbers),
                len(counting),
                *remarks.get(item.pk, (0, 0)),
            )
        if page.next is None:
            return
        after = Item.objects.get(key=page.next)


def _labels(item: Item, payload: Payload) -> str:
    """Write an answer with the names of labels, as in the data."""
    words = [item.surface(span)[:MAX_WORDS] for span in payload["spans"]]
    marked = [f"{word} ({span[2]})" for word, span in zip(words, payload["spans"], strict=True)]
    links = [
        name if isinstance(name, str) else f"{words[name[0]]} – {name[1]} – {words[name[2]]}"
        for name in payload["relations"]
    ]
    return ", ".join([*marked, *links]) or "N/A"
