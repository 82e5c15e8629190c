"""Bytes to numbered lines: line ends, gzip, limits, encodings."""

import gzip
import io
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsvc.core.formats.problems import FileRejected, Problems
from evalsvc.core.formats.text_lines import Limits, read_lines


def texts(source, **options) -> list[str]:
    return [text for _, text in read_lines(source, **options)]


def code_of(source, **options) -> str:
    with pytest.raises(FileRejected) as refused:
        texts(source, **options)
    return refused.value.problems.first[0].code


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("last", [b"", b"end"])
def test_every_line_end_ends_a_line_with_or_without_a_last_one(end, last):
    tail = [end, b"end"] if last else [end]
    assert texts(b"a" + end + end + b"b" + b"".join(tail)) == ["a", "", "b"] + ["end"] * bool(last)


def test_unicode_separators_end_no_line():
    assert texts("a\u2028b\x85c\x0bd\n".encode()) == ["a\u2028b\x85c\x0bd"]


def test_a_line_end_split_between_two_pieces_is_one_line_end():
    assert list(read_lines([b"a\r", b"\nb", b"", b"\n"])) == [(1, "a"), (2, "b")]


def test_a_byte_order_mark_is_taken_off_once():
    assert texts("\ufeff\ufeffa".encode()) == ["\ufeffa"]


def test_paths_files_bytes_and_pieces_read_alike(tmp_path: Path):
    data = "één\nzwei\n".encode() * 20_000
    path = tmp_path / "x"
    path.write_bytes(data)
    pieces = [data[i : i + 7_777] for i in range(0, len(data), 7_777)]
    readings = [texts(source) for source in (data, path, str(path), io.BytesIO(data), pieces)]
    assert readings[0] == ["één", "zwei"] * 20_000
    assert all(reading == readings[0] for reading in readings)


def test_gzip_is_recognised_by_content_in_several_members_and_with_padding():
    packed = gzip.compress(b"a\n") + gzip.compress(b"b\n") + bytes(40)
    assert texts(packed) == ["a", "b"]
    assert texts([packed[i : i + 1] for i in range(len(packed))]) == ["a", "b"]


def test_a_large_gzip_file_comes_out_whole():
    data = b"".join(b"line %d\n" % number for number in range(60_000))
    assert texts(gzip.compress(data))[-1] == "line 59999"


@pytest.mark.parametrize("cut", [3, 12, 20, 25])
def test_gzip_that_ends_early_is_rejected(cut):
    assert code_of(gzip.compress(b"hello\nworld\n")[:-cut]) == "bad_gzip"


def test_damaged_gzip_is_rejected():
    packed = bytearray(gzip.compress(b"hello\n" * 100))
    packed[-6] ^= 0xFF
    assert code_of(bytes(packed)) == "bad_gzip"
    assert code_of(gzip.compress(b"a\n") + b"rubbish") == "bad_gzip"


def test_a_decompression_bomb_stops_at_the_limit():
    taken = 0

    def bomb():
        nonlocal taken
        packer = zlib.compressobj(9, wbits=31)
        for _ in range(2_000):
            piece = packer.compress(b"a\n" * 100_000)
            taken += 1
            yield piece

    assert code_of(bomb(), limits=Limits(max_bytes=600_000)) == "too_large"
    assert taken < 200


def test_limits_of_lines_and_line_length_name_the_line():
    assert code_of(b"a\nb\nc\n", limits=Limits(max_lines=2)) == "too_many_lines"
    assert texts(b"a\nb\n", limits=Limits(max_lines=2, max_line_bytes=1)) == ["a", "b"]
    problems = Problems()
    with pytest.raises(FileRejected):
        texts([b"a\n", b"x" * 50, b"x" * 50], problems=problems, limits=Limits(max_line_bytes=60))
    assert (problems.first[0].code, problems.first[0].line) == ("line_too_long", 2)


def test_latin1_is_rejected_with_line_byte_and_hint():
    problems = Problems()
    with pytest.raises(FileRejected, match="Line 2: "):
        texts("ok\nnaïve\n".encode("latin-1"), problems=problems)
    assert problems.first[0].value == "byte 0xef at byte 3 of the line"
    assert "Latin-1" in (problems.first[0].hint or "")


def test_utf16_is_named_with_and_without_its_mark():
    for encoding in ("utf-16-le", "utf-16-be"):
        mark = "\ufeff".encode(encoding)
        assert code_of(mark + "abc\n".encode(encoding)) == "not_utf8"
        assert code_of("abc\n".encode(encoding)) == "nul_character"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_an_encoding_with_a_mark_is_named_with_what_converts_it(encoding):
    problems = Problems()
    with pytest.raises(FileRejected):
        texts("\ufeffabc\n".encode(encoding), problems=problems)
    name = encoding[:6].upper()
    assert problems.first[0].value == f"a {name} byte order mark"
    assert problems.first[0].example == f"iconv -f {name} -t UTF-8 FILE > FILE.utf8"


def test_other_archives_are_named():
    with pytest.raises(FileRejected, match="a zip archive"):
        texts(b"PK\x03\x04rest")


BLANKS = [b"", b"\n", b"  \r\n\t\n", b"\x1f", "\u2028\n\u00a0".encode(), gzip.compress(b"", mtime=0), []]


@pytest.mark.parametrize("nothing", BLANKS)
def test_a_file_without_content_is_rejected(nothing):
    assert code_of(nothing) == "empty_file"


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0\r\n")), min_size=1), st.data())
def test_lines_survive_any_cut_into_pieces(lines, data):
    whole = "".join(line + "\n" for line in lines).encode()
    cut = data.draw(st.integers(0, len(whole)))
    if any(line.strip() for line in lines) and not whole.startswith(b"\xef\xbb\xbf"):
        assert texts([whole[:cut], whole[cut:]]) == lines


def test_gzip_of_a_great_many_parts_is_rejected_and_of_many_is_read() -> None:
    part, line = gzip.compress(b"", mtime=0), gzip.compress(b"a\n", mtime=0)
    assert list(read_lines([part * 90_000 + line])) == [(1, "a")]
    with pytest.raises(FileRejected) as error:
        list(read_lines([part * 110_000 + line]))
    assert error.value.problems.by_code == {"bad_gzip": 1}
