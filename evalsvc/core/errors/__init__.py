"""Exceptions of the domain, their codes, and their form in JSON and HTML."""
