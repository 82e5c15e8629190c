"""The benchmark of exports on a small set."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from annotation.releases.check import check
from annotation.releases.folder import streams
from annotation.testset import TestSet
from bench.service import releases
from tests.cast.basics import person


@pytest.mark.django_db
def test_the_set_that_is_exported_is_a_release_without_differences() -> None:
    slug = releases.create(SimpleNamespace(olga=person("olga")), 40)  # type: ignore[arg-type]
    files = {name: b"".join(parts) for name, parts in streams(TestSet.objects.get(slug=slug))}
    result = check({name: lambda data=data: data.splitlines(keepends=True) for name, data in files.items()})
    assert (result.differences, result.redecided) == ({}, 40)
