"""Scoring options, and the choices behind a score in words.

Pages, downloads, the API and the commands all show this answer. Importable without Django and without NumPy.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.formats.negative_class import similar_to_negative
from evalsvc.core.formats.prediction_forms import BAG_ONLY, SILENT_FORMS, Form
from evalsvc.core.formats.tag_schemes import REPAIRS, SCHEMES
from evalsvc.evaluation.measures import old_labels

if TYPE_CHECKING:
    from evalsvc.evaluation.models import Setting, SettingVersion

# Raise it whenever a figure may change.
SCORER = "1.2"
TAU = "τ*"
THRESHOLD_BEFORE = {"1.0": 0.5}  # scorers that counted from a threshold where none was set
CHOICES = (
    *("negative", "include_negative", "beta", "threshold", "aggregate", "scheme", "repair"),
    *("casefold", "strip_articles", "grounding", "symmetric", "missing", "entropy", "profile"),
    "old_labels",
)
OF_KIND = {
    "sentence": ("include_negative", "threshold"),
    "bag": ("threshold",),
    "document": ("scheme", "repair", "casefold", "strip_articles", "grounding"),
    "joint": ("casefold", "strip_articles"),
}
FORMS_OF_KIND: dict[str, tuple[Form, ...]] = {
    "sentence": ("label", "labels", "scores"),
    "bag": ("label", "labels", "scores", "bag"),
    "document": ("spans", "tags", "entity_texts"),
    "joint": ("spans", "triple_texts"),
}
FORM_TITLES: dict[str, str] = {
    "label": "single labels",
    "labels": "label sets",
    "scores": "scores",
    "bag": "scored triples",
    "spans": "spans",
    "tags": "tags",
    "entity_texts": "entities as text",
    "triple_texts": "triples as text",
}
GROUNDINGS = {
    "ordered": "each answer takes the next place of its text",
    "first": "each distinct answer takes the first place of its text",
    "all": "each distinct answer takes every place of its text",
}
PROFILES = {
    "corrected": "corrected; measures named OpenNRE as in that toolkit",
    "both": "corrected; measures named OpenNRE as in that toolkit",
    "opennre": "as in the OpenNRE toolkit",
}
MISSING = {"refuse": "file rejected", "wrong": "counted as wrong", "empty": "counted as no label"}


def computation(
    options: Mapping[str, Any],
    *,
    scorer: str = "",
    gold: Mapping[str, Any] | None = None,
    version: int | None = None,
    hidden: bool = False,
) -> dict[str, Any]:
    """Return every choice behind a score.

    Choices that do not apply are absent. Files for a hidden setting have to answer every item.
    """
    choices = {key: options[key] for key in CHOICES if key in options}
    if options.get("unit") in ("sentence", "bag"):
        similar = similar_to_negative(options.get("labels", ()), negative=options.get("negative"))
        choices |= {"similar_to_negative": similar} if similar else {}
    elif "unit" in options:
        choices.pop("negative", None)  # entities have none
    if "missing" in choices and "form" in options:
        choices["missing"] = missing_rule(options["form"], choices["missing"], hidden=hidden)
    if "threshold" in choices:
        choices["operating_point"] = TAU if choices["threshold"] is None else "threshold"
        choices.setdefault("profile", "corrected")
    identity = {"scorer": scorer, **(gold or {}), "gold_version": version}
    return choices | {key: value for key, value in identity.items() if value not in ("", None)}


def of_setting(
    setting: Setting, version: SettingVersion | None = None, *, gold: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the choices of a setting, now or under a version.

    `gold` names the gold as it may be shown, and the part of it that is scored.
    """
    benchmark = setting.benchmark
    complete = complete_options(benchmark.options, task=benchmark.task)
    scorer = version.scorer if version else ""
    if complete.get("threshold") is None:
        complete["threshold"] = THRESHOLD_BEFORE.get(scorer)
    options = {key: complete[key] for key in ("beta", *OF_KIND[setting.kind])}
    options |= {"unit": setting.unit, "labels": [label["name"] for label in benchmark.labels or ()]}
    options["negative"] = benchmark.negative
    if old := old_labels.accepted(benchmark, [version or setting]).clear:
        options["old_labels"] = old
    if setting.kind == "joint":
        options["symmetric"] = [label["name"] for label in benchmark.labels if label.get("symmetric")]
    if setting.unit == "bag":
        options["aggregate"] = "ONE or AVG, as submitted"
    number = version.number if version else setting.version
    computed = computation(options, scorer=scorer, gold=gold, version=number)
    forms, hidden = FORMS_OF_KIND[setting.kind], setting.disclosure == "hidden"
    by_form = {form: missing_rule(form, benchmark.missing, hidden=hidden) for form in forms}
    return computed | {"missing": by_form[forms[0]], "missing_by_form": by_form}


def applied(options: dict[str, Any], counts: Mapping[str, Any]) -> dict[str, Any]:
    """Return options as they were applied: sets of labels average no negative class.

    Single labels are sets where the gold has several for an item; sets alone count gold labels.
    """
    is_set = bool(options.get("include_negative")) and "gold" in counts
    return {**options, "include_negative": False} if is_set else options


def missing_rule(form: str, missing: str, *, hidden: bool) -> str:
    """Return the treatment of items without a prediction: refuse, wrong or empty."""
    if form in (BAG_ONLY if hidden else SILENT_FORMS):
        return "empty"
    return "refuse" if hidden else missing


def in_words(computed: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return titles and values of a computation, for tables and pages."""
    version = f"version {computed['gold_version']}" if "gold_version" in computed else ""
    names = (
        *(("gold_sha256", "sha256"), ("gold_commitment", "commitment")),
        ("gold_file_sha256", "file sha256"),
    )
    digest = next((f"{title} {computed[key][:12]}…" for key, title in names if key in computed), "")
    rows = [
        ("Negative class", _negative(computed)),
        ("F", f"β = {computed['beta']:g} ({f_title(computed['beta'])})" if "beta" in computed else ""),
        ("Scored predictions", operating_point(computed)),
        ("Sentences to bags", computed.get("aggregate", "")),
        ("Ranking profile", PROFILES.get(computed.get("profile", ""), "")),
        ("Tags", _tags(computed)),
        ("Words", "compared without case" if computed.get("casefold") else ""),
        ("Articles", "the, a and an before answers are left out" if computed.get("strip_articles") else ""),
        ("Answers as text", GROUNDINGS.get(computed.get("grounding", ""), "")),
        ("Relations without direction", ", ".join(computed.get("symmetric", ()))),
        ("Old names of labels", _old_labels(computed)),
        ("Entropy weights", "N of the averaged classes" if computed.get("entropy") == "positive" else ""),
        ("Missing predictions", missing_words(computed)),
        ("Scored items", _scored_items(computed)),
        ("Gold", ", ".join(part for part in (version, digest) if part)),
        ("Scorer", computed.get("scorer", "")),
    ]
    return [(title, value) for title, value in rows if value]


def in_one_line(computed: Mapping[str, Any]) -> str:
    """Return the computation as one line for a table cell."""
    return "; ".join(f"{title}: {value}" for title, value in in_words(computed))


def operating_point(computed: Mapping[str, Any]) -> str:
    """Name the score from which claims count; empty for predictions without scores."""
    if "operating_point" not in computed:
        return ""
    if computed["operating_point"] == TAU:
        return "counted at τ*, the score of the best micro F1 of each run"
    return f"counted from the threshold {computed['threshold']:g} on"


def f_title(beta: float) -> str:
    """Return the name of F_β: F1, F2, F0.5."""
    return f"F{beta:g}"


def _negative(computed: Mapping[str, Any]) -> str:
    similar = computed.get("similar_to_negative")
    warning = f"{similar} looks like it, but is averaged like a relation" if similar else ""
    return "; ".join(part for part in (_stated_negative(computed), warning) if part)


def _stated_negative(computed: Mapping[str, Any]) -> str:
    if not computed.get("negative"):
        return "none" if computed.keys() & {"negative", "include_negative"} else ""
    if not computed.get("include_negative"):
        return f"{computed['negative']}, not averaged"
    # a setting takes several forms, and sets of labels have no negative class
    only = f" for {FORM_TITLES['label']}, if no item has several" if "missing_by_form" in computed else ""
    return f"{computed['negative']}, averaged{only}"


def missing_words(computed: Mapping[str, Any]) -> str:
    """Describe the treatment of items without a prediction, by form where it differs."""
    by_form = computed.get("missing_by_form") or {}
    if len(set(by_form.values())) < 2:
        return MISSING.get(computed.get("missing", ""), "")
    forms_of: dict[str, list[str]] = {}
    for form, rule in by_form.items():
        forms_of.setdefault(rule, []).append(FORM_TITLES[form])
    return "; ".join(f"{', '.join(forms)}: {MISSING[rule]}" for rule, forms in forms_of.items())


def _old_labels(computed: Mapping[str, Any]) -> str:
    return old_labels.in_words(computed.get("old_labels") or {}, negative=computed.get("negative"))


def _scored_items(computed: Mapping[str, Any]) -> str:
    """Count the items that are scored, if these are not all of the gold, and say which they are."""
    if "scored_items" not in computed:
        return ""
    of = f" of {computed['gold_items']:,}" if "gold_items" in computed else ""
    parts = [f"items of {computed['only']}"] if "only" in computed else []
    if "share" in computed:
        share = f"{100 * computed['share']:g} %"
        rest = f"the rest beside the {share} of “{computed.get('rest_of')}”"
        parts.append(rest if "rest_of" in computed else f"{share}, drawn once for all teams")
    parts += [f"seed {computed['share_seed']}"] if "share_seed" in computed else []
    return f"{computed['scored_items']:,}{of}, {', '.join(parts)}"


def _tags(computed: Mapping[str, Any]) -> str:
    if not computed.get("scheme"):
        return ""
    return f"{computed['scheme']}, repair {computed.get('repair') or 'conlleval'}"


@dataclass(frozen=True, slots=True)
class ScoringOption:
    """Default, effect and valid values of an option."""

    default: Any
    explains: str
    choices: tuple[str, ...] = ()
    least: float | None = None
    tasks: tuple[str, ...] = ()

    def applies(self, task: str) -> bool:
        """True for options of the task, or of every task."""
        return not self.tasks or task in self.tasks

    def accepts(self, value: Any) -> bool:
        if isinstance(self.default, bool):
            return isinstance(value, bool)
        if self.choices:
            return value in self.choices
        if value is None:
            return self.default is None
        number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        return number and (self.least is None or value > self.least)

    def expected(self) -> str:
        if isinstance(self.default, bool):
            return "true or false"
        if self.choices:
            return "one of " + ", ".join(self.choices)
        number = "a number" if self.least is None else f"a number above {self.least:g}"
        return f"{number}, or null" if self.default is None else number


OPTIONS: dict[str, ScoringOption] = {
    "beta": ScoringOption(1.0, "Weight of recall against precision in F.", least=0.0),
    "threshold": ScoringOption(
        None,
        "Lowest score of a claim that is counted as a label. By default τ*, the score of the best micro F1.",
        tasks=("relations",),
    ),
    "include_negative": ScoringOption(
        False, "Include the negative class in the averages of single-label settings.", tasks=("relations",)
    ),
    "scheme": ScoringOption("IOB2", "Tagging scheme of spans.", choices=SCHEMES, tasks=("entities",)),
    "repair": ScoringOption(
        "conlleval",
        "An entity without its beginning or end in the scheme counts (conlleval) or is dropped (strict, as "
        "by seqeval); strict-iob2 drops those without a beginning.",
        choices=REPAIRS,
        tasks=("entities",),
    ),
    "casefold": ScoringOption(
        False,
        "Treat words that differ only in case as one, in WRF and in answers as text.",
        tasks=("entities", "joint"),
    ),
    "strip_articles": ScoringOption(
        False,
        "Leave out the, a and an at the beginning of answers as text.",
        tasks=("entities", "joint"),
    ),
    "grounding": ScoringOption(
        "ordered",
        "Places in the text that entities without offsets take: the next one, the first one, or all.",
        choices=tuple(GROUNDINGS),
        tasks=("entities",),
    ),
    old_labels.OPTION: ScoringOption(
        False,
        "Map names that steps on the ontology of the gold replaced: files may have the old names of merged, "
        "renamed and deleted labels.",
    ),
}


def validate_options(options: dict[str, Any], *, task: str) -> dict[str, Any]:
    """Return the options; reject unknown keys and invalid values."""
    for key, value in options.items():
        option = OPTIONS.get(key)
        if option is None or not option.applies(task):
            valid = ", ".join(k for k, o in OPTIONS.items() if o.applies(task))
            raise DomainError(
                "unknown_option",
                f"Unknown option: {key}.",
                hint=f"Use {valid}.",
                field="options",
            )
        if not option.accepts(value):
            raise DomainError(
                "bad_option", f"Invalid option {key}: {value!r}. Enter {option.expected()}.", field="options"
            )
    return options


def complete_options(options: dict[str, Any], *, task: str) -> dict[str, Any]:
    """Return every option of the task, with defaults filled in."""
    return {key: options.get(key, o.default) for key, o in OPTIONS.items() if o.applies(task)}
