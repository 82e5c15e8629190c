"""evalsvc: reliable test sets, and systems ranked on them."""

__version__ = "0.1.0"
