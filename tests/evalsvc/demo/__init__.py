"""Tests of the demo generator."""
