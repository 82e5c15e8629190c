"""Imports of items, votes, gold and suggestions."""
