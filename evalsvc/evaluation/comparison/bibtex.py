"""BibTeX of a comparison: its test set, its board and the sources of its measures."""

from __future__ import annotations

from evalsvc.core.web.tables import latex_text
from evalsvc.evaluation.comparison.compared import Comparison
from evalsvc.evaluation.comparison.tables import computation
from evalsvc.evaluation.disclosure import gold_digest
from evalsvc.evaluation.measures import references


def entries(comparison: Comparison, *, address: str) -> str:
    """Entries for the test set, the board and the sources of the measures."""
    setting, version = comparison.setting, comparison.board.version
    slug, year = setting.benchmark.slug, f"{version.created_at:%Y}"
    digest = gold_digest.of_version(version)
    name, _, value = gold_digest.in_words(digest).partition(" ")
    own = [
        (
            f"{slug}-gold",
            {
                "key": f"{version.test_set}",  # sorted by, without an author
                "title": f"{version.test_set}",
                "year": year,
                "note": f"Test set, version {version.number} of {setting.title}: {name} {value[:12]}…",
                **digest,  # whole, in fields that no style prints
            },
        ),
        (
            f"{slug}-board",
            {
                "key": f"{setting.benchmark}",
                "title": f"{setting.benchmark}: {setting.title}",
                "year": year,
                "howpublished": address,
                "note": computation(comparison),
            },
        ),
    ]
    sources = (column.measure.source for column in comparison.columns)
    done = {test.test for tests in comparison.tests.values() for test in tests if test.test}
    over_runs = {name for name in done if name.startswith("Welch")}
    published = references.entries(sources, over_runs=bool(over_runs), over_items=bool(done - over_runs))
    return "\n".join([*(_entry(key, fields) for key, fields in own), *(f"{each}\n" for each in published)])


def _entry(key: str, fields: dict[str, str]) -> str:
    lines = ",\n".join(f"  {name} = {{{latex_text(value)}}}" for name, value in fields.items() if value)
    return f"@misc{{{key},\n{lines}\n}}\n"
