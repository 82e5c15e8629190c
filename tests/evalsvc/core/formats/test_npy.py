"""The header of an array file, read without NumPy, against what NumPy writes."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsvc.core.formats import npy
from evalsvc.core.formats.problems import FileRejected, Problems


def written(array: Any, version: tuple[int, int] | None = None) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, array, version=version, allow_pickle=False)
    return file.getvalue()


def read(content: bytes) -> npy.Header:
    problems = Problems()
    header = npy.read_header(content, problems)
    npy.check_size(header, len(content), problems)
    return header


def refused(content: bytes) -> dict[str, int]:
    with pytest.raises(FileRejected) as caught:
        read(content)
    return dict(caught.value.problems.by_code)


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
@pytest.mark.parametrize("type", ["<f2", "<f4", "<f8"])
def test_headers_written_by_numpy_are_read(version: tuple[int, int], type: str) -> None:
    array = np.arange(12, dtype=type).reshape(4, 3)
    content = written(array, version)
    header = read(content)
    assert (header.type, header.rows, header.columns) == (type, 4, 3)
    found = np.frombuffer(content, dtype=header.type, offset=header.begin)
    assert np.array_equal(found.reshape(4, 3), array)


@pytest.mark.parametrize(
    ("array", "code"),
    [
        (np.zeros((2, 2), dtype="<i8"), "bad_npy"),
        (np.zeros((2, 2), dtype=">f8"), "bad_npy"),
        (np.asfortranarray(np.zeros((2, 3))), "bad_npy"),
        (np.zeros(4), "wrong_shape"),
        (np.zeros((2, 2, 2)), "wrong_shape"),
        (np.zeros((0, 3)), "wrong_shape"),
        (np.zeros(2, dtype=[("a", "<f8")]), "bad_npy"),
    ],
)
def test_anything_but_a_matrix_of_floats_is_rejected(array: Any, code: str) -> None:
    assert refused(written(array)) == {code: 1}


def test_a_truncated_or_extended_file_is_rejected() -> None:
    content = written(np.zeros((5, 5)))
    assert refused(content[:-1]) == refused(content + b"\0") == {"bad_npy": 1}


def test_a_header_is_never_evaluated() -> None:
    code = b"__import__('os').system('true')"
    content = npy.MAGIC + b"\1\0" + len(code).to_bytes(2, "little") + code
    assert refused(content) == {"bad_npy": 1}


def survives(content: bytes) -> bool:
    """True when the file was read or rejected without another error."""
    try:
        return read(content).rows > 0
    except FileRejected as refusal:
        return refusal.problems.total == 1


@given(st.binary(max_size=200))
def test_any_bytes_after_the_magic_are_read_or_rejected(rest: bytes) -> None:
    assert survives(npy.MAGIC + rest)


@given(st.text(alphabet="{}[]()':, descrfortan_shpe<8", max_size=80))
def test_any_header_is_read_or_rejected(text: str) -> None:
    header = text.encode()
    assert survives(npy.MAGIC + b"\1\0" + len(header).to_bytes(2, "little") + header)


def test_an_unhashable_key_is_rejected() -> None:
    header = b"{[]: 1}"
    assert refused(npy.MAGIC + b"\1\0" + len(header).to_bytes(2, "little") + header) == {"bad_npy": 1}
