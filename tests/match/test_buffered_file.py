"""A buffered file writes its items once and in order."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from spielleiter.match.game_folder import BufferedFile


class Words(BufferedFile[str]):
    def write(self, word: str) -> None:
        self._buffer.append(word)

    def flush(self) -> None:
        self._flush()

    def _encode(self) -> bytes:
        return " ".join(self._buffer).encode()


def test_buffered_items_are_written_once_and_in_order(tmp_path: Path) -> None:
    with Words(tmp_path / "words", 10) as words:
        words.write("a")
        words.flush()
        words.write("b")
        assert words._remaining == 10
    assert gzip.decompress((tmp_path / "words").read_bytes()) == b"ab"
    assert words._remaining == 0


def test_discarded_items_are_not_written(tmp_path: Path) -> None:
    words = Words(tmp_path / "words", 10)
    words.write("a")
    words.discard()
    assert not (tmp_path / "words").exists()


def test_a_file_that_cannot_be_written_raises_and_drops_its_buffer(tmp_path: Path) -> None:
    words = Words(tmp_path / "nowhere" / "words", 10)
    words.write("a")
    with pytest.raises(FileNotFoundError):
        words.close()
    assert words._buffer == []
