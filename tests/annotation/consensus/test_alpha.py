"""Krippendorff's α, against his published example."""

import pytest

from annotation.consensus.alpha import nominal_alpha

# Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), example C: four observers, twelve units
UNITS = ["111", "2232", "3333", "3333", "2222", "1234", "4444", "1121", "2222", "555", "11", "3"]


def test_alpha_of_the_published_example() -> None:
    assert nominal_alpha(UNITS) == pytest.approx(0.743, abs=5e-4)


@pytest.mark.parametrize("units", [[], ["1", "2"], ["11", "11"]])
def test_alpha_is_undefined_where_nothing_could_differ(units: list[str]) -> None:
    assert nominal_alpha(units) is None
