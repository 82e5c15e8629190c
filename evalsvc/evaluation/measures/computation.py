"""One answer to “how was this computed”, as data and in words.

Pages, downloads, the API and the commands all show this answer. Importable without Django and without NumPy.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from evalsvc.evaluation.measures.options import complete_options

if TYPE_CHECKING:
    from evalsvc.evaluation.models import Setting, SettingVersion

TAU = "τ*"
THRESHOLD_BEFORE = {"1.0": 0.5}  # scorers that counted from a threshold where none was set
CHOICES = (
    *("negative", "include_negative", "beta", "threshold", "aggregate", "scheme", "repair"),
    *("casefold", "missing", "entropy", "profile"),
)
OF_UNIT = {
    "sentence": ("include_negative", "threshold"),
    "bag": ("threshold",),
    "document": ("scheme", "repair", "casefold"),
}
PROFILES = {
    "corrected": "corrected; measures named OpenNRE as in that toolkit",
    "both": "corrected; measures named OpenNRE as in that toolkit",
    "opennre": "as in the OpenNRE toolkit",
}
MISSING = {"refuse": "file rejected", "wrong": "counted as wrong"}


def computation(
    options: Mapping[str, Any],
    *,
    scorer: str = "",
    gold: Mapping[str, str] | None = None,
    version: int | None = None,
) -> dict[str, Any]:
    """Return every choice behind a score.

    Choices that do not apply are absent.
    """
    choices = {key: options[key] for key in CHOICES if key in options}
    if "threshold" in choices:
        choices["operating_point"] = TAU if choices["threshold"] is None else "threshold"
        choices.setdefault("profile", "corrected")
    identity = {"scorer": scorer, **(gold or {}), "gold_version": version}
    return choices | {key: value for key, value in identity.items() if value not in ("", None)}


def of_setting(
    setting: Setting, version: SettingVersion | None = None, *, gold: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return the choices of a setting, now or under a version.

    `gold` names the gold as it may be shown.
    """
    benchmark = setting.benchmark
    complete = complete_options(benchmark.options, task=benchmark.task)
    scorer = version.scorer if version else ""
    if complete.get("threshold") is None:
        complete["threshold"] = THRESHOLD_BEFORE.get(scorer)
    options = {key: complete[key] for key in ("beta", *OF_UNIT[setting.unit])}
    options |= {"missing": benchmark.missing}
    if benchmark.negative:
        options["negative"] = benchmark.negative
    if setting.unit == "bag":
        options["aggregate"] = "ONE or AVG, as submitted"
    number = version.number if version else setting.version
    return computation(options, scorer=scorer, gold=gold, version=number)


def in_words(computed: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return titles and values of a computation, for tables and pages."""
    rows = [
        ("Negative class", _negative(computed)),
        ("F", f"β = {computed['beta']:g} ({f_title(computed['beta'])})" if "beta" in computed else ""),
        ("Scored predictions", operating_point(computed)),
        ("Sentences to bags", computed.get("aggregate", "")),
        ("Ranking profile", PROFILES.get(computed.get("profile", ""), "")),
        ("Tags", _tags(computed)),
        ("Words", "compared without case" if computed.get("casefold") else ""),
        ("Entropy weights", "N of the averaged classes" if computed.get("entropy") == "positive" else ""),
        ("Missing predictions", MISSING.get(computed.get("missing", ""), "")),
        ("Gold", _gold(computed)),
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
    if not computed.get("negative"):
        return "none" if "include_negative" in computed else ""
    return f"{computed['negative']}, {'' if computed.get('include_negative') else 'not '}averaged"


def _tags(computed: Mapping[str, Any]) -> str:
    if not computed.get("scheme"):
        return ""
    return f"{computed['scheme']}, repair {computed.get('repair') or 'conlleval'}"


def _gold(computed: Mapping[str, Any]) -> str:
    version = f"version {computed['gold_version']}" if "gold_version" in computed else ""
    names = (("gold_sha256", "sha256"), ("gold_commitment", "commitment"))
    digest = next((f"{title} {computed[key][:12]}…" for key, title in names if key in computed), "")
    return ", ".join(part for part in (version, digest) if part)
