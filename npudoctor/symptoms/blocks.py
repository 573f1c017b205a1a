"""Read a log of any kind in blocks: plain, gzip (also cut off), UTF-16 with a byte order mark."""

from __future__ import annotations

import codecs
import zlib
from collections.abc import Iterator
from typing import BinaryIO

BLOCK = 4 << 20  # bytes read at a time


def read_blocks(stream: BinaryIO) -> Iterator[bytes]:
    """Blocks of bytes in a UTF-8 compatible form; never raises on what the file holds."""
    first = stream.read(BLOCK)
    if first[:2] == b"\x1f\x8b":
        yield from _unpacked(first, stream)
        return
    utf16 = first[:2] in (b"\xff\xfe", b"\xfe\xff")
    decoder = codecs.getincrementaldecoder("utf-16")("replace") if utf16 else None
    while first:
        yield decoder.decode(first).encode("utf-8", "replace") if decoder else first
        first = stream.read(BLOCK)


def _unpacked(packed: bytes, stream: BinaryIO) -> Iterator[bytes]:
    """Unpack as far as the file is sound: a log that was cut off still tells something."""
    unpack = zlib.decompressobj(wbits=31)
    while packed:
        try:
            block = unpack.decompress(packed, BLOCK)
        except zlib.error:
            return
        if block:
            yield block
        packed = unpack.unconsumed_tail or unpack.unused_data or stream.read(BLOCK)
        if unpack.eof:
            unpack = zlib.decompressobj(wbits=31)
