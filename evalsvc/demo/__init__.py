"""The demo: an invented world, its sentences, its annotators and its systems, all from one seed."""

SEED = 3
"""The seed of the demo that ships; the others hold the same properties with other people."""
