"""Projects of any size, written directly to the database of either application."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import psycopg

K = 4
TEXT = (
    "'Sentence ' || n || ' says that Ada Lovelace was born in the old town of Turin, ' "
    "|| repeat(md5(n::text) || ' ', 4)"
)
HEAD = """'{"id": "Q1", "name": "Ada Lovelace", "start": 24, "end": 36}'::jsonb"""
TAIL = """'{"id": "Q2", "name": "Turin", "start": 62, "end": 67}'::jsonb"""
LABELS = [f"relation {number}" for number in range(10)]


@dataclass
class SeededProject:
    """Address of a seeded project, and a token per annotator."""

    slug: str
    tokens: list[str]


def seed_service(url: str, *, items: int, people: int) -> SeededProject:
    """Fill the service's tables; the default connection must lead to them."""
    from annotation import projects
    from annotation.models import Batch
    from annotation.ontology import inventory
    from evalsvc.core.accounts.models import User
    from evalsvc.core.accounts.tokens import issue

    olga = User.objects.create_user("olga", may_organise=True)
    project = projects.create(title="Bench", slug="bench", kind="relations", k=K, by=olga)
    inventory.add_labels(project, LABELS, by=olga)
    batch = Batch.objects.create(project=project, what="items", size=0, state="done", by=olga)
    with psycopg.connect(url, autocommit=True) as db:
        db.execute(
            "INSERT INTO annotation_item (project_id, batch_id, key, external_id, content_key, rank, text, "
            "head, tail, repeats, asked, extra, use, free, state, pattern, votes_key, emptied, "
            "policy_matters) SELECT %s, %s, gen_random_uuid(), 's' || n, md5(n::text) || md5(n::text), n, "
            f"{TEXT}, {HEAD}, {TAIL}, '[]', 0, 0, '', {K}, 'open', '', '', 0, false "
            "FROM generate_series(1, %s) n",
            [project.pk, batch.pk, items],
        )
        db.execute("VACUUM ANALYZE")
    projects.open_for_work(project, by=olga)
    tokens = []
    for number in range(people):
        user = User.objects.create_user(f"ann{number}")
        projects.set_member(project, user=user, role="annotator", by=olga)
        tokens.append(issue(user, name="bench", scope="full")[1])
    return SeededProject("bench", tokens)


def seed_bare(url: str, *, items: int, people: int) -> SeededProject:
    """Fill the existing tables of the bare application."""
    tokens = [f"token {number}" for number in range(people)]
    digests = [(hashlib.sha256(secret.encode()).hexdigest(), person) for person, secret in enumerate(tokens)]
    with psycopg.connect(url, autocommit=True) as db:
        with db.cursor() as cursor:
            cursor.executemany("INSERT INTO bare_token (digest, person) VALUES (%s, %s)", digests)
        db.execute(
            "INSERT INTO bare_item (rank, text, head, tail, free, answers) "
            f"SELECT n, {TEXT}, {HEAD}, {TAIL}, {K}, 0 FROM generate_series(1, %s) n",
            [items],
        )
        db.execute("VACUUM ANALYZE")
    return SeededProject("bench", tokens)
