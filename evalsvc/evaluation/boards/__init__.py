"""Boards: figures of the runs of systems, ranked; those of large boards are stored."""
