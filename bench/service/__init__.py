"""Benchmark of submissions: waiting times, fairness between teams, memory for large files."""
