"""Properties are read with their lines; a file that is not a text file is refused with one line."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from spielleiter.server.config import MOST_BYTES, ConfigError, read_properties


def refused(file: Path) -> str:
    with pytest.raises(ConfigError) as caught:
        list(read_properties(file))
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_properties_are_read_with_their_line_numbers(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_bytes(b"# a comment\r\nport = 1\r\n\r\nhost: a\\\r\n b\r\nseed 5")
    assert list(read_properties(file)) == [(2, "port", "1"), (4, "host", "ab"), (6, "seed", "5")]


def test_an_invalid_escape_is_reported_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("port = 1\npassword = \\u00zz\n")
    assert refused(file).startswith(f"{file}:2: ")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files")
def test_devices_and_pipes_are_not_read(tmp_path: Path) -> None:
    if sys.platform == "win32":
        pytest.skip("Windows has nothing like it")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    link = tmp_path / "link"
    link.symlink_to(pipe)
    for file in (Path("/dev/zero"), pipe, link):
        assert refused(file) == f"{file}: is a device or a pipe, expected a text file in UTF-8"


def test_a_directory_and_a_file_that_is_too_large_are_refused(tmp_path: Path) -> None:
    assert refused(tmp_path).startswith(f"{tmp_path}: cannot be read (")
    file = tmp_path / "large"
    file.write_bytes(b"#" * (MOST_BYTES + 1))
    assert refused(file) == f"{file}: has more than 1048576 bytes, expected a text file with settings"
    file.write_bytes(b"#" * MOST_BYTES)
    assert list(read_properties(file)) == []
