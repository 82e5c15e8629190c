"""Figures of systems known only from papers."""
