"""Bytes <-> text: nothing that is not edited changes."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npudoctor.migrate.source import SourceError, decode_python, decode_text

ENDS = st.sampled_from(["\n", "\r\n", "\r"])
SAMPLES = {
    "empty": b"",
    "no final newline": b"x = 1",
    "crlf": b"a = 1\r\nb = 2\r\n",
    "mixed ends": b"a\r\nb\nc\rd\r\n",
    "bom": codecs.BOM_UTF8 + b"x = 1\n",
    "latin-1 cookie": b"# -*- coding: latin-1 -*-\nx = '\xe9\xff'\n",
    "gbk cookie": "# coding: gbk\nx = '中文'\r\n".encode("gbk"),
    "form feed": b"x = 1\n\x0c\ny = 2\x1c\n",
    "tabs": b"if x:\n\ty = 1\n",
    "unicode separators": "x = '\u2028\x85'\n".encode(),
}


@pytest.mark.parametrize("data", SAMPLES.values(), ids=SAMPLES)
def test_round_trip(data: bytes) -> None:
    source = decode_python(data)
    assert source.encode(source.text) == data
    assert "\r" not in source.text
    assert not source.text.startswith("\ufeff")


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from([b"a", b"\r", b"\n", b"\r\n", b"\x0c", b" ", "é".encode()]), max_size=30))
def test_round_trip_of_any_line_ends(parts: list[bytes]) -> None:
    data = b"".join(parts)
    source = decode_python(data)
    assert source.encode(source.text) == data


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_round_trip_or_are_refused(data: bytes) -> None:
    for decode in (decode_python, decode_text):
        try:
            source = decode(data)
        except SourceError:
            continue
        assert source.encode(source.text) == data


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("abc"), ENDS), min_size=1, max_size=12),
    st.integers(0, 11), st.sampled_from(["change", "insert", "delete"]),
)
def test_an_edited_line_leaves_the_ends_of_the_others(lines: list, at: int, how: str) -> None:
    data = "".join(text + str(i) + end for i, (text, end) in enumerate(lines)).encode()
    source = decode_python(data)
    at = min(at, len(lines) - 1)
    edited = source.text.split("\n")
    if how == "change":
        edited[at] = "edited"
    elif how == "insert":
        edited.insert(at, "edited")
    else:
        del edited[at]
    result = source.encode("\n".join(edited)).decode()
    for i, (text, end) in enumerate(lines):
        if i != at:
            assert text + str(i) + end in result


@pytest.mark.parametrize(
    ("data", "reason"),
    [(b"x = 1\0", "binary"), (b"\xff\xfex\x00", "encoding"), (b"x = '\xe9'\n", "cookie"),
     (b"# coding: nonsense\n", "cookie"), (b"# coding: unicode_escape\nx = '\\x41'\n", "cookie"),
     (b"# coding: idna\n", "cookie"), (b"# coding: rot13\n", "encoding")],
)
def test_refused_with_a_reason(data: bytes, reason: str) -> None:
    with pytest.raises(SourceError) as caught:
        decode_python(data)
    assert caught.value.reason == reason


def test_a_character_the_encoding_lacks_is_refused() -> None:
    source = decode_python(b"# coding: latin-1\nx = 1\n")
    with pytest.raises(SourceError):
        source.encode("x = '中'\n")


def test_text_of_unstated_encoding() -> None:
    assert decode_text("设备: cuda\n".encode()).encoding == "utf-8"
    assert decode_text("设备: cuda\n".encode("gbk")).encoding == "gb18030"
    assert decode_text(b"device: cuda # \xe9\xff\xfe\n").encoding == "latin-1"
