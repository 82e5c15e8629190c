"""Items a person may get next: new ones, and those that come again."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, Q, Subquery

from annotation.models import Annotator, Answer, Batch, Item, ItemQuerySet, Lease, Project, Vote
from annotation.queue import gold_questions


# With hidden checks, on or off, a sentence that was once leased stays with its person until they answer it or
# skip it for good, whatever others do: it is not taken back, and once deferred or given back it comes again
# at the end. Otherwise the sentences that nobody else can fill would be the checks.
def assignable_items(project: Project, annotator: Annotator) -> ItemQuerySet:
    """Return items that need answers and are new to this annotator."""
    items = untouched(_imported(project).filter(free__gt=0), annotator).order_by("rank")
    if not gold_questions.keeps_leases(project):
        return items
    return items.exclude(Exists(Lease.objects.filter(item=OuterRef("pk"), annotator=annotator)))


def deferred_items(project: Project, annotator: Annotator) -> ItemQuerySet:
    """Return items and checks that this annotator deferred, the longest deferred first.

    Of those that others have filled, the ones that the annotator had answered: where one more person was
    called, others' answers to these would show by whether they come.
    """
    votes = Vote.objects.filter(annotator=annotator, item=OuterRef("pk")).order_by("-number")
    deferred = Vote.objects.filter(annotator=annotator, reason="later").order_by()
    kept = gold_questions.keeps_leases(project)
    uses = Q(use__in=(Item.Use.WORK, Item.Use.CHECK))
    answered = Exists(votes.filter(act=Vote.Act.ANSWER))
    wanted = uses if kept else Q(free__gt=0) | Q(answered, use=Item.Use.WORK)
    items = (
        _imported(project)
        .filter(wanted, pk__in=deferred.values("item"))
        .annotate(
            last_reason=Subquery(votes.values("reason")[:1]), last_vote=Subquery(votes.values("pk")[:1])
        )
    )
    return _not_leased(items.filter(last_reason="later").order_by("last_vote"), annotator)


def returned_items(project: Project, annotator: Annotator) -> ItemQuerySet:
    """Return items and checks this annotator returned, the longest ago first.

    Without hidden checks returned items are assignable again.
    """
    leases = Lease.objects.filter(annotator=annotator).exclude(ending="")
    last = leases.filter(item=OuterRef("pk")).order_by("-pk").values("pk")[:1]
    uses = (Item.Use.WORK, Item.Use.CHECK) if gold_questions.keeps_leases(project) else ()
    returned = _imported(project).filter(use__in=uses, pk__in=leases.values("item"))
    return untouched(returned, annotator).order_by(Subquery(last))


def asked_again(project: Project, annotator: Annotator) -> ItemQuerySet:
    """Return items and checks whose answer by this annotator no longer counts, in the order of the answers.

    Sentences that others have filled are among them: what comes would tell whether others' answers are asked
    again as well, and so what these have.
    """
    own = Answer.objects.filter(annotator=annotator, again=True)
    uses = (Item.Use.WORK, Item.Use.CHECK)
    items = _imported(project).filter(use__in=uses, pk__in=own.values("item"))
    answered = own.filter(item=OuterRef("pk")).values("vote")[:1]
    return _not_leased(items, annotator).order_by(Subquery(answered))


def _imported(project: Project) -> ItemQuerySet:
    """Return items of finished imports without their outcomes, which take time to read; checks have none.

    A join would lock the row of the import, too.
    """
    batches = Batch.objects.filter(project=project, state=Batch.State.DONE)
    return Item.objects.filter(project=project, batch__in=batches.values("pk")).defer("gold")


def untouched(items: ItemQuerySet, annotator: Annotator) -> ItemQuerySet:
    votes = Vote.objects.filter(item=OuterRef("pk"), annotator=annotator)
    return _not_leased(items.exclude(Exists(votes)), annotator)


def _not_leased(items: ItemQuerySet, annotator: Annotator) -> ItemQuerySet:
    leases = Lease.objects.filter(item=OuterRef("pk"), annotator=annotator, ending="")
    return items.exclude(Exists(leases))
