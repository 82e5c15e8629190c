"""Disputes and unanswerable items, decided by adjudicators."""
