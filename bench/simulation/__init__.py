"""Simulation of the job queue: waits by number of workers, checked against real workers."""
