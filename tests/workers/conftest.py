"""Fixtures of the workers' tests."""

from tests.evalsvc.evaluation.conftest import cast

__all__ = ["cast"]
