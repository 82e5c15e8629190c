"""Tests of the shell and of its rooms."""
