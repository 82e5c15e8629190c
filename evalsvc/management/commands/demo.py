"""Load the demo: two projects, one release each, two benchmarks, thirty runs. Safe to run again."""

from __future__ import annotations

from typing import Any

from django.core.management import CommandParser

from evalsvc.demo import SEED, accounts
from evalsvc.demo.corpus import relation_corpus
from evalsvc.demo.entities import entity_corpus
from evalsvc.management.commands._base import Spoken


class Command(Spoken):
    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--logins", action="store_true", help="only print the log-ins")

    def handle(self, *args: Any, **options: Any) -> None:
        if not options["logins"]:
            self.load()
        self.print_logins()

    def load(self) -> None:
        from evalsvc.demo import benchmarks, load_state, projects

        cast = accounts.gather()
        sentences, documents = relation_corpus(SEED), entity_corpus(SEED)
        self.say(f"{len(sentences)} sentences, votes of four people, most disputes decided")
        relations = projects.relation_project(cast, sentences)
        self.say(f"{len(documents)} sentences with names, votes of three people")
        entities = projects.entity_project(cast, documents)
        self.say("freezing one release of each")
        curator = cast.users[accounts.CURATOR]
        gold, spans = (projects.release(project, by=curator) for project in (relations, entities))
        boards = benchmarks.relation_benchmark(cast, gold), benchmarks.entity_benchmark(cast, spans)
        self.say("submitting thirty runs; the worker scores them from here on")
        sent = [
            *benchmarks.submit_relation_runs(cast, boards[0], sentences),
            *benchmarks.submit_entity_runs(cast, boards[1], documents),
        ]
        load_state.remember()
        self.say(f"{len(sent)} runs submitted")

    def print_logins(self) -> None:
        passwords = accounts.logins()
        for purpose, name in accounts.SHOWN.items() if passwords else ():
            self.stdout.write(f"  {purpose:<12} {name:<10} {passwords[name]}")

    def say(self, words: str) -> None:
        self.stdout.write(f"demo: {words}")
        self.stdout.flush()
