"""Sandbox for uploaded pipelines: they read little, write one file and reach no network."""
