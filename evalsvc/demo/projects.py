"""The two labelling projects of the demo, made through the verbs that everybody uses."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

from annotation import projects
from annotation.adjudication import decisions
from annotation.freezing import builder
from annotation.imports import batches
from annotation.models import Item, Project
from annotation.ontology import inventory
from annotation.queue import votes as voting
from annotation.testset import TestSet
from evalsvc.core.accounts.models import User
from evalsvc.core.formats.writer import canonical_line
from evalsvc.demo import SEED
from evalsvc.demo.accounts import ADJUDICATOR, CURATOR, Cast
from evalsvc.demo.annotators import ANNOTATORS, relation_votes
from evalsvc.demo.corpus import Sentence
from evalsvc.demo.entities import LABELS, SPAN_ANNOTATORS, TokenSentence, span_votes
from evalsvc.demo.job_wait import done
from evalsvc.demo.relations import RELATIONS

RELATION_PROJECT, ENTITY_PROJECT = "harbour-news", "harbour-names"
RELEASE = "1.0"
LEFT_DISPUTED = 5
"""Every so many disputes one is left for whoever tries the deciding page."""
GUIDELINE = """\
Say what the **sentence** says of its two marked entities, not what you know of them.

- Choose every relation that the sentence states or clearly implies.
- Choose N/A when it states none of these, however close the two names stand.
- Skip a sentence that is broken, or whose marked names are not the entities meant.
"""
SPAN_GUIDELINE = """\
Mark every name of a person, an organisation or a place, with all of its words and nothing else.
"""


def same_each_time(*parts: object) -> UUID:
    """A client-made id that a second loading makes again, so that nothing is written twice."""
    return uuid5(NAMESPACE_URL, "demo/" + "/".join(str(part) for part in parts))


def relation_project(cast: Cast, sentences: list[Sentence]) -> Project:
    """Sentences imported, four people's votes cast, most disputes decided; some items open, some disputed."""
    curator = cast.users[CURATOR]
    project = _project(RELATION_PROJECT, "Harbour news, relations", "relations", 4, GUIDELINE, curator)
    inventory.add_labels(project, [_label(relation) for relation in RELATIONS], by=curator)
    _staff(project, dict.fromkeys(ANNOTATORS, "annotator") | {ADJUDICATOR: "adjudicator"}, cast)
    _import(project, "items", [_item_line(s) for s in sentences], "harbour-news.jsonl", curator)
    projects.open_for_work(project, by=curator)
    _vote(project, cast, sentences)
    _decide(project, {s.id: s for s in sentences}, cast.users[ADJUDICATOR])
    return project


def entity_project(cast: Cast, sentences: list[TokenSentence]) -> Project:
    """Tokenised sentences and three people's span votes, both by import."""
    curator = cast.users[CURATOR]
    project = _project(ENTITY_PROJECT, "Harbour news, names", "entities", 3, SPAN_GUIDELINE, curator)
    inventory.add_labels(project, list(LABELS), by=curator)
    _staff(project, {ADJUDICATOR: "adjudicator"}, cast)
    items = [{"id": s.id, "tokens": list(s.tokens)} for s in sentences]
    _import(project, "items", items, "harbour-names.jsonl", curator)
    votes = [
        {"item": vote.item, "annotator": vote.annotator, "spans": [list(span) for span in vote.spans]}
        for vote in span_votes(sentences, seed=SEED)
    ]
    _import(project, "votes", votes, "harbour-names-votes.jsonl", curator, k=len(SPAN_ANNOTATORS))
    projects.open_for_work(project, by=curator)
    return project


def release(project: Project, *, by: User) -> TestSet:
    """Version 1.0: what is settled or decided; open and disputed items are left out and listed."""
    made = project.test_sets.filter(version=RELEASE, origin="annotated").first()
    made = made or builder.freeze(project, name=project.title, version=RELEASE, leave_out=True, by=by)
    done("freeze", made.pk)
    made.refresh_from_db()
    return made


def _project(slug: str, title: str, kind: str, k: int, guideline: str, curator: User) -> Project:
    found = Project.objects.filter(slug=slug).first()
    return found or projects.create(title=title, slug=slug, kind=kind, k=k, guideline=guideline, by=curator)


def _staff(project: Project, roles: dict[str, str], cast: Cast) -> None:
    for name, role in roles.items():
        projects.set_member(project, user=cast.users[name], role=role, by=cast.users[CURATOR])


def _label(relation: Any) -> dict[str, Any]:
    return {
        "name": relation.key,
        "title": relation.title,
        "phrase": relation.verb,
        "group": relation.group,
        "head_type": relation.head,
        "tail_type": relation.tail,
        "definition": relation.definition,
        "choose": relation.choose,
        "avoid": relation.avoid,
    }


def _item_line(sentence: Sentence) -> dict[str, Any]:
    def end(mention: Any) -> dict[str, Any]:
        entity = mention.entity
        return {
            "id": entity.id,
            "name": entity.name,
            "pos": [mention.start, mention.end],
            "type": entity.kind,
        }

    labels = {"relations": list(sentence.source)}
    return {
        "id": sentence.id,
        "text": sentence.text,
        "h": end(sentence.head),
        "t": end(sentence.tail),
    } | labels


def _import(
    project: Project, what: str, lines: Iterable[dict[str, Any]], filename: str, by: User, **options: Any
) -> None:
    """Through the import that everybody uses, once."""
    sent = project.batches.filter(what=what).exclude(state__in=batches.UNFINISHED_STATES).first()
    if sent is None:
        upload = io.BytesIO(b"".join(canonical_line(line) for line in lines))
        sent = batches.receive(
            what=what, upload=upload, filename=filename, options=options, by=by, project=project
        )
    done("import", sent.pk)


def _vote(project: Project, cast: Cast, sentences: list[Sentence]) -> None:
    items = {item.external_id: item for item in project.items.live()}
    for vote in relation_votes(sentences, seed=SEED):
        voting.answer(
            items[vote.item],
            cast.users[vote.annotator],
            client_id=same_each_time("vote", vote.item, vote.annotator),
            payload={"spans": [], "relations": list(vote.labels)},
        )


def _decide(project: Project, truth: dict[str, Sentence], adjudicator: User) -> None:
    """The adjudicator reads rightly; some disputes of each kind stay for the visitor."""
    by_hand = (Item.State.DISPUTED, Item.State.ADJUDICATED)
    items = project.items.live().filter(state__in=by_hand).order_by("pattern", "rank")
    chosen = [item for at, item in enumerate(items) if at % LEFT_DISPUTED]
    for item in (item for item in chosen if item.state == Item.State.DISPUTED):
        decisions.decide(
            item,
            by=adjudicator,
            payload={"spans": [], "relations": list(truth[item.external_id].relations)},
            reason="As the guideline reads the sentence.",
            client_id=same_each_time("decision", item.external_id),
            votes_key=item.votes_key,
        )
