"""The people, projects and benchmarks of the tests, made through the product's own functions."""
