"""The default configuration of all allowed components is accepted."""

from __future__ import annotations

from evalsvc.core.formats.spacy_pipeline import FACTORIES, check_config, parse_config


def test_a_pipeline_of_all_spacy_components_with_default_settings_is_accepted() -> None:
    import spacy

    nlp = spacy.blank("en")
    for factory in FACTORIES:
        nlp.add_pipe(factory)
    check_config(parse_config(nlp.config.to_str()))
