"""Stored files: written whole, verified, and lost only when the storage works."""
