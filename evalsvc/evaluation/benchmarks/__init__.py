"""Benchmarks: settings, versions, phases, quotas, and what a file is checked against."""
