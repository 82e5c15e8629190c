"""Durable jobs: the row is the truth, a message only wakes workers."""
