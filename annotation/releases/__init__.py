"""Releases: the files of a frozen test set, their check, comparison and publication."""
