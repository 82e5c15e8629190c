"""Databases, brokers, workers and browsers of the tests."""
