"""Disclosure of scores: to whom, in which phase, how exactly."""
