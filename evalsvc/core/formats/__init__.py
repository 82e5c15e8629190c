"""File formats.

A new format is one module that calls `register`, and one import line below.
"""

from functools import cache


@cache
def load() -> None:
    """Import all formats; on first use, so that programs start fast."""
    from evalsvc.core.formats import (  # noqa: F401
        conll,
        crowdtruth,
        jsonl_items,
        jsonl_predictions,
        jsonl_votes,
        label_list,
        npy,
        npz,
        nyt10,
        semeval,
        spacy_pipeline,
        triples,
    )
