"""Ready-made inventories with what people need to choose rightly."""

from __future__ import annotations

from annotation.ontology.preset_nyt10 import NYT10
from annotation.ontology.preset_schema import Preset, PresetLabel

CONLL03 = Preset(
    key="conll03",
    title="Four entity types",
    describes="Person, location, organisation and other names, as in the CoNLL 2003 task.",
    part="entity",
    entries=(
        PresetLabel("PER", "person", definition="Names of people, real or invented, without their titles."),
        PresetLabel(
            "LOC", "location", definition="Names of places: towns, countries, rivers, buildings as places."
        ),
        PresetLabel("ORG", "organisation", definition="Names of firms, teams, parties, offices, bands."),
        PresetLabel("MISC", "other name", definition="Other names: nationalities, events, works, languages."),
    ),
    na_means="no name of these types",
)
WNUT17 = Preset(
    key="wnut17",
    title="Six entity types of short messages",
    describes="Person, location, corporation, group, product and creative work, as in the WNUT 2017 task.",
    part="entity",
    entries=(
        PresetLabel("person", definition="Names of people, nicknames and invented characters included."),
        PresetLabel(
            "location", definition="Names of places that can be found on a map, invented ones included."
        ),
        PresetLabel("corporation", definition="Names of firms, not of what they make."),
        PresetLabel("group", definition="Names of bands, teams and bodies that are no firms."),
        PresetLabel("product", definition="Names of things that are made and sold."),
        PresetLabel(
            "creative-work", "creative work", definition="Titles of songs, films, books and the like."
        ),
    ),
    na_means="no name of these types",
)

PRESETS: dict[str, Preset] = {preset.key: preset for preset in (NYT10, CONLL03, WNUT17)}
