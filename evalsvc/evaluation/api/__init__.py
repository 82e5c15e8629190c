"""JSON API of benchmarks and submissions."""
