"""The demo: an invented harbour town, its annotators and its systems."""
