"""Benchmark of pages: CPU time and queries on a small and on a ten times larger database."""
