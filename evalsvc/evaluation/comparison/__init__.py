"""Comparison of systems of a board: their tests, and what a paper takes from them."""
