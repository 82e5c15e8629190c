"""Database helpers."""
