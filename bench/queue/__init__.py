"""Benchmark of the labelling queue over HTTP against a bare Django application."""
