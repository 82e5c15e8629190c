"""Faults injected into a real service: processes, broker, database and storage, at named points."""
