"""Identifiers of licences as data hubs and as citations spell them."""

from __future__ import annotations

import re

CREATIVE_COMMONS = re.compile(r"cc-by(-nc)?(-nd|-sa)?-(1\.0|2\.0|2\.5|3\.0|4\.0)")
SPDX = {
    name.lower(): name
    for name in (
        *("CC0-1.0", "MIT", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "PDDL-1.0", "ODbL-1.0"),
        *("ODC-By-1.0", "CDLA-Permissive-1.0", "CDLA-Sharing-1.0", "GPL-3.0", "LGPL-3.0"),
    )
}
HUB_NAMES = {
    "odc-by-1.0": "odc-by",
    "odbl-1.0": "odbl",
    "pddl-1.0": "pddl",
}  # where they leave the version out
FROM_HUB = {hub: name for name, hub in HUB_NAMES.items()}


def spdx(licence: str) -> str:
    """Return the SPDX identifier, empty for a licence without one known here."""
    name = FROM_HUB.get(licence.lower(), licence.lower())
    return name.upper() if CREATIVE_COMMONS.fullmatch(name) else SPDX.get(name, "")


def hub_fields(licence: str) -> dict[str, str]:
    """Return the fields of a card; hubs take licences that they don't list as `other` with a name."""
    if not licence:
        return {}
    name = licence.lower()
    if spdx(licence):
        return {"license": HUB_NAMES.get(name, name)}
    known = name in ("other", "unknown")
    return {"license": name} if known else {"license": "other", "license_name": name}
