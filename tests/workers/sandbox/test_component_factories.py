"""The default configuration of each allowed component is accepted."""

from __future__ import annotations

import pytest

from evalsvc.core.formats.spacy_pipeline import FACTORIES, check_config, parse_config


@pytest.mark.parametrize("factory", sorted(FACTORIES))
def test_a_default_spacy_component_is_accepted(factory: str) -> None:
    import spacy

    nlp = spacy.blank("en")
    nlp.add_pipe(factory)
    check_config(parse_config(nlp.config.to_str()))
