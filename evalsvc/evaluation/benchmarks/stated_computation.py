"""How the scores of a setting are computed: its choices, the gold as it may be shown, and the part scored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalsvc.evaluation.benchmarks import inputs
from evalsvc.evaluation.disclosure import gold_digest
from evalsvc.evaluation.measures.computation import of_setting
from evalsvc.evaluation.models import Setting, SettingVersion


def stated_computation(
    setting: Setting, version: SettingVersion, *, gold: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return the choices of a setting under a version; `gold` names it where that is known already."""
    named = gold_digest.of_version(version) if gold is None else gold
    return of_setting(setting, version, gold={**named, **scored_part(version)})


def scored_part(version: SettingVersion) -> dict[str, Any]:
    """Describe the items that a version scores, if these are not all of its gold; the board shows the same.

    The number of lines of the whole gold is stated for a split alone: its two settings state their items.
    """
    setting, part = version.setting, dict[str, Any]()
    if version.only is not None:
        part["only"] = str(version.only)
    if setting.share is not None:
        part |= {"share": setting.share, "gold_items": inputs.count_inputs(version)}
        part["rest_of"] = setting.rest_of.title if setting.rest_of else ""
        part["share_seed"] = setting.share_seed if setting.has_closed() else ""
    return part | {"scored_items": inputs.count_items(version)} if part else {}
