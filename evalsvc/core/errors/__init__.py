"""Exceptions, their codes, and error responses in JSON and HTML."""
