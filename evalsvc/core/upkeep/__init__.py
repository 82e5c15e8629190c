"""Upkeep: findings with their cures, and removal of what no row needs."""
