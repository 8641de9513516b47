from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from spielleiter.match.records.buffered_file import BufferedFile


class Words(BufferedFile[str]):
    def write(self, word: str) -> None:
        self._buffer.append(word)

    def flush(self) -> None:
        self._flush()

    def _encode(self) -> bytes:
        return " ".join(self._buffer).encode()


def test_what_is_held_is_written_in_order_and_once(tmp_path: Path) -> None:
    with Words(tmp_path / "words", 10) as words:
        words.write("a")
        words.flush()
        words.write("b")
        assert words._remaining == 10
    assert gzip.decompress((tmp_path / "words").read_bytes()) == b"ab"
    assert words._remaining == 0


def test_what_is_discarded_is_not_written(tmp_path: Path) -> None:
    words = Words(tmp_path / "words", 10)
    words.write("a")
    words.discard()
    assert not (tmp_path / "words").exists()


def test_a_file_that_cannot_be_written_is_told_and_forgotten(tmp_path: Path) -> None:
    words = Words(tmp_path / "nowhere" / "words", 10)
    words.write("a")
    with pytest.raises(FileNotFoundError):
        words.close()
    assert words._buffer == []
