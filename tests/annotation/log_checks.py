"""Comparison of acknowledged writes, the vote log and the state of items."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class LoadResult:
    """Result of a load test; every figure under `wrong` must be 0."""

    operations: int = 0
    acknowledged: int = 0
    by_kind: dict[str, int] = field(default_factory=dict)
    kills: int = 0
    lapsed: int = 0
    surplus: int = 0
    k: list[int] = field(default_factory=list)
    votes: int = 0
    items: int = 0
    seconds: float = 0
    wrong: dict[str, int] = field(default_factory=dict)
    unexpected: list[str] = field(default_factory=list)


def check_log(result: LoadResult, project: int, journal: list[list[str]]) -> None:
    from annotation.models import Answer, Item, Vote

    kinds = Counter(words[0] for words in journal)
    result.operations, result.by_kind = kinds.total(), dict(kinds)
    result.unexpected = sorted({" ".join(words) for words in journal if words[0] in ("BROKEN", "DOUBLED")})[
        :10
    ]
    acked = {words[1] for words in journal if words[0] == "vote"}
    result.acknowledged = len(acked)
    votes = list(Vote.objects.filter(item__project=project).order_by("pk"))
    written = Counter(str(vote.client_id) for vote in votes)
    result.votes = len(votes)
    answers = Answer.objects.filter(item__project=project).order_by("item", "position")
    answers_of: dict[int, list[Answer]] = {}
    for answer in answers:
        answers_of.setdefault(answer.item_id, []).append(answer)
    items = list(Item.objects.filter(project=project).select_related("project"))
    result.surplus = sum(max(0, len(answers_of.get(item.pk, [])) - item.project.k) for item in items)
    result.wrong |= {
        "acknowledged and lost": len(acked - written.keys()),
        "written twice": sum(n - 1 for n in written.values()),
        "answers twice by one person": sum(
            len(own) - len({answer.annotator_id for answer in own}) for own in answers_of.values()
        ),
        "items that more than k answers decide": sum(
            _counted(item, answers_of) > item.project.k for item in items
        ),
        "items still open though all came back": sum(item.state == Item.State.OPEN for item in items),
        "items whose replayed log disagrees": _replayed(items, votes, answers_of),
        "clients that broke": kinds["BROKEN"],
        "repeats written anew": kinds["DOUBLED"],
    }


def _counted(item: object, answers_of: dict[int, list]) -> int:
    """Return the number of answers behind the stored outcome, from its votes key."""
    from annotation.consensus.applied_decisions import votes_digest
    from annotation.consensus.item_state import counted_answers

    own = answers_of.get(item.pk, [])  # type: ignore[attr-defined]
    for n in range(len(own) + 1):
        raw = [answer.payload for answer in counted_answers(own, k=n)]
        if (votes_digest(raw, raw) if raw else "") == item.votes_key:  # type: ignore[attr-defined]
            return n
    return len(own) + 1


def _replayed(items: list, votes: list, answers_of: dict[int, list]) -> int:
    """Replay the log by the rule alone; return the items with another outcome."""
    from annotation.consensus.majority import decide

    own: dict[int, dict[int, tuple[int, dict]]] = {item.pk: {} for item in items}
    for vote in votes:
        latest = own[vote.item_id]
        if vote.act == "skip":
            latest.pop(vote.annotator_id, None)
        elif vote.annotator_id in latest:
            latest[vote.annotator_id] = (latest[vote.annotator_id][0], vote.payload)
        else:
            latest[vote.annotator_id] = (
                max((place for place, _ in latest.values()), default=0) + 1,
                vote.payload,
            )
    wrong = 0
    for item in items:
        ordered = sorted((place, who, payload) for who, (place, payload) in own[item.pk].items())
        kept = [
            (answer.position, answer.annotator_id, answer.payload) for answer in answers_of.get(item.pk, [])
        ]
        k = item.project.k
        verdict = decide(
            [payload for _, _, payload in ordered], kind=item.project.kind, policy=item.project.policy, k=k
        )
        wrong += kept != ordered or (verdict.state, verdict.gold) != (item.state, item.gold)
    return wrong
