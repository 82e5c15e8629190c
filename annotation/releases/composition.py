"""Presentation of a frozen test set, from its statistics and its manifest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from annotation import roles
from annotation.models.project import RULE_TITLES
from annotation.releases.label_charts import LabelChart, label_charts
from annotation.releases.shown_statistics import Statistics, left_out_counts, shown_statistics
from annotation.testset import Kind, Origin, TestSet
from evalsvc.core.formats.problem_kinds import KINDS
from evalsvc.core.web.figures import Stat
from evalsvc.core.web.formatting import DASH, counted


def _percent_ends(ends: Sequence[float] | None) -> str:
    return f"{100 * ends[0]:.1f} to {100 * ends[1]:.1f} %" if ends else ""


def _coefficient(value: float) -> str:
    return f"{value:.2f}".replace("0.", ".", 1).replace("-", "−")


def _ends(estimate: Mapping[str, Any]) -> str:
    if estimate.get("low") is None or estimate.get("high") is None:
        return "no interval"
    return f"{_coefficient(estimate['low'])} to {_coefficient(estimate['high'])}"


def _states(counts: Mapping[str, int], noun: str) -> str:
    parts = [f"{n:,} {state}" for state, n in counts.items()]
    return f"{' and '.join(parts)} {noun if sum(counts.values()) == 1 else f'{noun}s'}"


def _agreement(figures: Mapping[str, Any], of: str, note: str) -> list[Stat]:
    """Return the agreement of complete answers, or of spans, with its interval."""
    overall, spans = figures.get("overall") or {}, figures.get("spans") or {}
    found = (
        ("α", "with MASI distance", overall.get("alpha_masi") or {}),
        ("F1 of pairs", "of annotators", spans.get("f1") or {}),
    )
    aside = figures.get("set_aside")
    notes = [note] if note else []
    notes += [f"without {counted(aside, 'answer')} set aside"] if aside else []
    return [
        Stat(f"{name}{of}", _coefficient(figure["value"]), "; ".join([what, _ends(figure), *notes]))
        for name, what, figure in found
        if figure.get("value") is not None
    ]


class Composition:
    """Contents of a test set as its page shows them.

    `with_gold` is true for people who may learn the gold, and for releases that contain it. While the project
    is open, what was left out is counted beside the gold for those who `may_download` it, and the answers to
    it are for people who curate it.
    """

    def __init__(
        self,
        test_set: TestSet,
        *,
        with_gold: bool = True,
        in_release: bool = False,
        may_download: bool = True,
        curates: bool = False,
    ) -> None:
        self.set, self.manifest = test_set, test_set.manifest
        self.with_gold, self.in_release = with_gold, in_release
        self.with_outcomes = roles.shows_outcomes(test_set, with_gold=with_gold)
        self.described = test_set.statistics is not None
        self.counts_left_out = roles.shows_outcomes(test_set, with_gold=with_gold and may_download)
        undecided = roles.shows_undecided(test_set, curates=curates)
        shown = shown_statistics(test_set, of_left_out=self.counts_left_out, of_undecided=undecided)
        self.statistics: Statistics = shown or {}
        self.annotated = test_set.origin == Origin.ANNOTATED
        self.relations = test_set.kind == Kind.RELATIONS
        self.noun = "sentence" if self.relations else "text"
        self.negative_title = (test_set.negative or "N/A") if self.relations else "Without entity"
        self.decisions = self.manifest.get("decisions") or []

    @property
    def lead(self) -> str:
        test_set, negative = self.set, ""
        if test_set.state == TestSet.State.BUILDING:
            act = "imported" if test_set.origin == Origin.IMPORTED else "frozen"
            return f"It is being {act}. Contents, SHA-256 and download appear here when that is done."
        if test_set.state == TestSet.State.FAILED:
            return "It has no content."
        n = counted(test_set.rows, self.noun)
        if self.annotated and self.manifest.get("k") and self.with_outcomes:
            lead = f"{n}, each labelled by {self._answers_each('person', 'people')}.{self.answer_origins}"
        elif test_set.origin == Origin.SOURCE:
            lead = f"{n} with the labels of their source, not checked by people."
        else:
            lead = f"{n}."
        if test_set.negative and self.relations:
            negative = f" and {test_set.negative}"
        return f"{lead} {self._inventory}{negative}."

    @property
    def _inventory(self) -> str:
        """Count the labels; those of joint gold are types or relations."""
        relations = sum(label.get("part") == "relation" for label in self.set.labels)
        if self.relations:
            return counted(len(self.set.labels), "relation")
        types = counted(len(self.set.labels) - relations, "entity type")
        return f"{types} and {counted(relations, 'relation')}" if relations else types

    @property
    def answer_origins(self) -> str:
        """Return the recorded origins of the answers, empty for older sets."""
        counts = self.manifest.get("answers") or {}
        texts = {
            "blind": "{} given here without source labels, predictions or other answers in view",
            "prediction_shown": "{} given here with a prediction shown",
            "imported": "{} imported, so how they were made is not recorded here",
        }
        parts = [text.format(f"{counts[key]:,}") for key, text in texts.items() if counts.get(key)]
        return f" Answers: {'; '.join(parts)}." if parts else ""

    def _answers_each(self, noun: str, plural: str) -> str:
        """Count the answers per item, a range if they vary; older sets state only how many were needed.

        People called for disputes are among them: without outcomes it is the number of the rule.
        """
        stated, k = self.manifest if self.with_outcomes else {}, self.manifest.get("k", "?")
        least, most = stated.get("answers_of_items") or stated.get("k_of_items") or (k, k)
        numbers = str(least) if least == most else f"{least} to {most}"
        return f"{numbers} {noun if numbers == '1' else plural}"

    @property
    def stats(self) -> list[Stat]:
        def write(key: str, form: str, factor: int = 1) -> str:
            value = self.statistics.get(key)
            return "" if value is None else form.format(factor * value)

        perplexity = write("perplexity_with_negative", "{:.1f} with N/A") or "of the label distribution"
        stats = [
            Stat(f"{self.noun.capitalize()}s", f"{self.set.rows:,}", "one line each"),
            Stat("Entity pairs", write("pairs", "{:,}"), "ordered"),
            Stat("Facts", write("facts", "{:,}"), "head, relation, tail"),
            Stat("Entities", write("entities", "{:,}"), "labelled spans"),
            Stat("Relations", write("relations_between", "{:,}"), "between entities"),
            Stat("Tokens", write("tokens", "{:,}"), self._tokenised),
            Stat(self.negative_title, write("na_share", "{:.1f} %", 100), f"of {self.noun}s"),
            Stat("Perplexity", write("perplexity_without_negative", "{:.1f}"), perplexity),
            Stat("Imbalance", self._imbalance, "most to least frequent label"),
            *self._answer_stats,
        ]
        return [stat for stat in stats if stat.figure]

    @property
    def _imbalance(self) -> str:
        ratio = self.statistics.get("ratio")
        return "" if ratio is None else f"{ratio:,.{int(ratio < 10)}f} : 1"

    @property
    def _tokenised(self) -> str:
        """Say whose tokens are counted, if some texts have none."""
        n = self.statistics.get("tokenised", self.set.rows)
        has = "has" if n == 1 else "have"
        return "as in the file" if n == self.set.rows else f"of the {counted(n, 'text')} that {has} them"

    @property
    def answers(self) -> dict[str, Any]:
        """Return the figures over the answers, empty where none were recorded."""
        return self.statistics.get("provenance") or {}

    @property
    def _answer_stats(self) -> list[Stat]:
        """Agreement with its interval, and the time that the counted answers took."""
        of_all, of_lines = self.answers.get("agreement_of_all"), self.answers.get("agreement") or {}
        kept = " of the lines kept" if of_all or self._left_out_beside else ""
        stats = _agreement(of_lines, kept, "" if of_all else self._left_out_beside)
        if of_all:
            where = f"over all {counted(of_all['sentences'], self.noun)} with two or more answers"
            stats = [*_agreement(of_all, "", where), *stats]
        time = self.answers.get("time") or {}
        if time.get("minutes_per_item") is not None:
            minutes = f"{time['minutes_per_item']:.1f}"
            stats.append(Stat("Minutes", minutes, f"per item, median of {time['items']:,} timed ones"))
        return stats

    @property
    def _left_out_beside(self) -> str:
        """Name what was left out beside figures of the lines, if that had answers which could be compared.

        Earlier versions recorded no answers of sentences that were left out.
        """
        counts = left_out_counts(self.set)
        recorded = self.manifest.get("agreement", {"left_out": sum(counts.values())})
        if not self.counts_left_out:
            return f"some {self.noun}s were left out" if counts else ""
        of = " of the whole" if self.manifest.get("split") else ""
        return f"without {_states(counts, self.noun)}{of}" if recorded["left_out"] else ""

    @property
    def n_disputed(self) -> int | None:
        """The disputed sentences that were left out; None if it is not known or shown how many."""
        counts = left_out_counts(self.set)
        known = self.counts_left_out and not self.manifest.get("split")
        return counts.get("disputed", 0) if known or not counts else None

    @property
    def one_answer_each(self) -> bool:
        """True if every line had a single answer that counted."""
        return self.with_outcomes and self.manifest.get("answers_of_items") == [1, 1]

    @property
    def other_rule(self) -> str:
        """Compare the decisions with what the other rule would have settled."""
        other = self.answers.get("other_rule") or {}
        if not other.get("settles"):
            return ""
        n, rule = other["settles"], RULE_TITLES.get(other["rule"], other["rule"])
        lines = counted(n, f"decided {self.noun}")
        return f"The rule “{rule}” would have settled {lines}; {other['as_decided']:,} of them as decided."

    @cached_property
    def charts(self) -> list[LabelChart]:
        return label_charts(self.set, self.statistics, self.negative_title)

    @property
    def source_quality(self) -> list[Stat]:
        figures = self.statistics.get("source_quality") or {}
        names = (
            ("fact_precision", "Precision", "of the source’s facts"),
            ("fact_recall", "Recall", "of the facts in this gold"),
            ("pair_accuracy", "Pair accuracy", "pairs with exactly the same relations"),
        )
        return [
            Stat(
                name,
                DASH if figures.get(key) is None else f"{100 * figures[key]:.1f} %",
                _percent_ends(figures.get(f"{key}_ends")) or detail,
            )
            for key, name, detail in names
            if figures
        ]

    @property
    def provenance(self) -> list[tuple[str, str]]:
        manifest, facts = self.manifest, []
        if self.annotated and (policy := manifest.get("policy")):
            answers = self._answers_each("answer", "answers")
            facts.append(("Rule", f"{RULE_TITLES.get(policy, policy)}; {answers} per {self.noun}"))
        with_counts = self.with_outcomes and (self.with_gold or not self.in_release)
        if with_counts and self.annotated and (counts := manifest.get("counts")):
            rule = "one answer" if self.one_answer_each else "majority"
            decided = f"{counts['settled']:,} by {rule}, {counts['adjudicated']:,} by an adjudicator"
            facts.append(("Outcomes", decided))
        if steps := manifest.get("ontology"):
            facts.append(("Ontology", f"{counted(len(steps), 'step')} of merging, deleting or renaming"))
        if split := manifest.get("split"):
            # with it, the parts of lines check guesses of their labels
            hides_seed = split["stratified"] and (self.in_release or not self.with_gold)
            seed = "" if hides_seed else f", seed {split['seed']}"
            facts.append(("Part", f"{split['part']} of {split['of']}{seed}"))
        if mapped := manifest.get("mapped"):
            names = counted(len(mapped["names"]), "label")
            facts.append(
                (
                    "Made of",
                    f"{', '.join(each['slug'] for each in mapped['of'])}; {names} renamed, merged or deleted",
                )
            )
        if file := manifest.get("file"):
            has_more = not self.with_gold or (self.in_release and split)  # than what is shown
            digest = "" if has_more else f", SHA-256 {file['sha256'][:12]}"
            facts.append(("Source file", f"{file['name']}{digest}"))
        if reading := self._reading:
            facts.append(("Reading", reading))
        if version := manifest.get("evalsvc"):
            facts.append(("Software", f"evalsvc {version}"))
        return facts

    @property
    def _reading(self) -> str:
        """Describe how the import read tags, and what it repaired, dropped or merged."""
        batch = self.set.batch
        counts, options = (batch.counts, batch.options) if batch else ({}, {})
        repeated = counts.get("repeated_lines") or 0
        scheme, repair = options.get("scheme"), options.get("repair") or "conlleval"
        parts = [f"Tags: {scheme}, repair {repair}."] if scheme else []
        parts += [f"{counted(repeated, 'repeated line')} merged."] if repeated else []
        warnings = counts.get("warnings") or {}
        parts += [f"{n:,} × {KINDS[code].message}" for code, n in warnings.items() if code in KINDS]
        return " ".join(parts)

    @property
    def left_out(self) -> str:
        counts = left_out_counts(self.set)
        if not self.counts_left_out:
            return f"Some {self.noun}s were left out." if counts else ""
        unusable = counts.pop("unusable", 0)
        of = " of the whole" if self.manifest.get("split") else ""
        text = [f"Left out by the curator{of}: {_states(counts, self.noun)}."] if counts else []
        text += [f"Broken, or with a wrongly marked entity: {unusable:,}."] if unusable else []
        listed = ["The manifest lists them."] if text and self.with_gold else []
        return " ".join([*text, *listed])

    @property
    def not_for(self) -> list[str]:
        if self.annotated:
            return [
                "Training or tuning: these lines cannot measure a system that has seen them.",
                f"Label frequencies: the curator chose the {self.noun}s, so they are not a random sample.",
            ]
        if self.set.origin == Origin.SOURCE:
            advice = "Compare each score with the score on the annotated set."
            return [f"Measuring quality alone: nobody checked these labels. {advice}"]
        use = "Here it is only stored and used for scoring."
        return [f"Claims about how it was labelled: ask its publishers. {use}"]
