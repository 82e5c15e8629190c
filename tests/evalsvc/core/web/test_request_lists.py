"""Lists of a request are bounded before their entries are read, and few wrong entries are named.

A body of 4 MB, each entry of it an error, took 2 GB and was answered with 69 MB.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from rest_framework import serializers
from rest_framework.exceptions import ValidationError

from evalsvc.core.web.request_validation import MAX_ENTRIES, validated


class Row(serializers.Serializer[Any]):
    lists = serializers.ListField(child=serializers.IntegerField())


class Body(serializers.Serializer[Any]):
    few = serializers.ListField(child=serializers.IntegerField(), max_length=60, default=list)
    many = serializers.ListField(child=serializers.IntegerField(), default=list)
    named = serializers.DictField(child=serializers.IntegerField(), default=dict)
    rows = Row(many=True, default=list)


def sent(**body: Any) -> dict[str, Any]:
    request: Any = SimpleNamespace(data=body)
    return validated(request, Body)


@pytest.mark.parametrize(
    ("field", "value", "named"),
    [
        ("few", ["x"] * 60, 20),
        ("few", [1] * 61, 1),
        ("many", ["x"] * MAX_ENTRIES, 20),
        ("many", [1] * (MAX_ENTRIES + 1), 1),
        ("named", {f"n{at}": "x" for at in range(MAX_ENTRIES)}, 20),
        ("rows", [{"lists": []}] * (MAX_ENTRIES + 1), 1),
    ],
)
def test_a_list_is_bounded_and_twenty_wrong_entries_are_named(field: str, value: Any, named: int) -> None:
    with pytest.raises(ValidationError) as error:
        sent(**{field: value})
    assert isinstance(error.value.detail, dict)
    assert [len(of_field) for of_field in error.value.detail.values()] == [named]


def test_right_entries_are_read() -> None:
    body = {"few": [1, 2], "many": [3], "named": {"a": 4}, "rows": [{"lists": [5]}]}
    assert sent(**body) == body
