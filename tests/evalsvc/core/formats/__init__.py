"""Tests of the customs house."""
