"""Submissions: upload, check, storage, models."""
