"""File formats.

A new format is one module that calls `register`, and one import line below.
"""

from functools import cache


@cache
def load() -> None:
    """Import all formats; on first use, so that programs start fast."""
    from evalsvc.core.formats import (  # noqa: F401
        brat,
        cas_xmi,
        conll,
        crowdtruth,
        csv_table,
        doccano,
        docred,
        dygie,
        hugging_face,
        jsonl_items,
        jsonl_predictions,
        jsonl_votes,
        label_list,
        label_studio,
        npy,
        npz,
        nyt10,
        opennre,
        plain_text,
        semeval,
        spacy_docbin,
        spacy_pipeline,
        spert,
        tacred,
        triples,
        webanno_tsv,
    )
