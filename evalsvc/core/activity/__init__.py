"""The log of changes to projects and benchmarks."""
