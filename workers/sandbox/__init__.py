"""Sandbox for uploaded pipelines: few files to read, no network."""
