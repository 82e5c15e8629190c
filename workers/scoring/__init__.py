"""Scoring and comparing local files by the same measures as the service, without it."""
