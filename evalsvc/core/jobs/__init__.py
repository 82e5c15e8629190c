"""Durable work: one row per job is the truth, a message only a hint."""
