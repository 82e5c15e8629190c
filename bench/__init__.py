"""Measurements as ratios within one run: ours, what users run today, and the floor."""
