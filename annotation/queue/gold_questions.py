"""Gold questions that are due: of the qualification round, and hidden checks at random places."""

from __future__ import annotations

from django.db.models import Exists, OuterRef
from django.utils.crypto import salted_hmac

from annotation.models import Annotator, Item, KnownAnswer, Lease, Project, Vote
from annotation.models.oversight import drawn_place
from annotation.queue import sql
from annotation.queue.grading import judge_round
from annotation.queue.participants import Participant
from annotation.roles import CURATOR
from evalsvc.core.accounts.models import User


def is_qualifying(participant: Participant) -> bool:
    """True before the person has passed the round; curators are exempt."""
    return (
        participant.project.qualifies
        and participant.role != CURATOR
        and participant.annotator.qualified_at is None
    )


def must_qualify(project: Project, user: User, *, role: str) -> bool:
    """True until the person has passed the qualification round."""
    if not project.qualifies or role == CURATOR:
        return False
    return not Annotator.objects.filter(project=project, user=user, qualified_at__isnull=False).exists()


def due_gold_question(participant: Participant) -> Item | None:
    """Return the gold question to lease now, if one is due."""
    annotator = participant.annotator
    if is_qualifying(participant):
        item = _next_gold_question(participant, Item.Use.QUALIFY)
        if item is not None or Lease.objects.filter(annotator=annotator, ending="").exists():
            return item
        # neither of two last answers at one moment ended the round
        if not judge_round(annotator, participant.project):
            return None
        annotator.refresh_from_db(fields=["qualified_at"])
    if not participant.project.check_every or participant.role == CURATOR:
        return None
    check = _next_gold_question(participant, Item.Use.CHECK)  # each time: the time of a reply tells nothing
    return None if items_before_check(participant) else check


def has_checks(project: Project) -> bool:
    """True if the project has hidden checks, on or off: answers to them are asked again."""
    return bool(sql.value(sql.HAS_CHECKS, project=project.pk))


def keeps_leases(project: Project) -> bool:
    """True if leased items stay with their person, whatever others do.

    Votes on them then take as long as on hidden checks.
    """
    return project.check_every > 0 or has_checks(project)


# ---- places of hidden checks ----------------------------------------------------------------------
# Items come in blocks of `check_every` ordinary ones and one check at a random place among them, so that
# neither a count nor the interval reveals which one it is.
PLACE = "place of a hidden check"
COUNTED_PLACE = "place of a hidden check that is counted"


def check_place(annotator: Annotator, block: int, every: int, *, salt: str = PLACE) -> int:
    """Return the place of the check in a block, 0 to `every`.

    Only the server can compute it.
    """
    key = f"{annotator.project_id}:{annotator.user_id}:{block}:{every}"
    digest = salted_hmac(salt, key, algorithm="sha256")
    return int.from_bytes(digest.digest()[:8]) % (every + 1)


def items_before_check(participant: Participant) -> int:
    """Count the ordinary items that come before the next hidden check.

    0 if one is due.
    """
    annotator, every = participant.annotator, participant.project.check_every
    block, place = _position(annotator, every)
    wait = check_place(annotator, block, every) - place
    return wait if wait >= 0 else every + 1 - place + check_place(annotator, block + 1, every)


def count_items(participant: Participant, n: int) -> None:
    """Move the annotator's position on by n items."""
    every = participant.project.check_every
    if every:
        block, place = _position(participant.annotator, every)
        participant.annotator.check_block = block + (place + n) // (every + 1)
        participant.annotator.since_check = (place + n) % (every + 1)


def checks_among(annotator: Annotator, n: int, every: int) -> int:
    """Count the hidden checks that come with the next n ordinary items.

    If these end in a later block, the count may be one off: it goes by another place than that of the check.
    Others change n, so whoever watched it would know the place once there is work again.
    """
    block, place = _position(annotator, every)
    wait = check_place(annotator, block, every) - place
    ordinary = every + 1 - place - (wait >= 0)  # left in this block
    checks = int(0 <= wait <= n)
    if n < ordinary:
        return checks
    blocks, left = divmod(n - ordinary, every)
    return checks + blocks + (check_place(annotator, block + blocks + 1, every, salt=COUNTED_PLACE) <= left)


def _position(annotator: Annotator, every: int) -> tuple[int, int]:
    """Return block and place.

    A shorter interval than before begins a new block.
    """
    if annotator.since_check > every:
        return annotator.check_block + 1, 0
    return annotator.check_block, annotator.since_check


def draw_order_of_checks(project: Project) -> None:
    checks = KnownAnswer.objects.filter(item__project=project, item__use=Item.Use.CHECK)
    drawn = list(checks.only("pk").order_by("pk"))
    for known in drawn:
        known.place = drawn_place()
    KnownAnswer.objects.bulk_update(drawn, ["place"], batch_size=500)


def _next_gold_question(participant: Participant, use: str) -> Item | None:
    votes = Vote.objects.filter(item=OuterRef("pk"), annotator=participant.annotator)
    leases = Lease.objects.filter(item=OuterRef("pk"), annotator=participant.annotator)
    if use == Item.Use.QUALIFY:
        leases = leases.filter(ending="")
    items = participant.project.items.present().filter(use=use, known__isnull=False)
    order = ("rank",) if use == Item.Use.QUALIFY else ("known__place", "pk")
    return items.exclude(Exists(votes)).exclude(Exists(leases)).order_by(*order).first()
