"""Leases, assignment, votes and gold questions."""
