"""A file that is no text file is named in one line, and is not read."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from spielleiter.server.config.properties import MOST_BYTES, ConfigError, read_properties


def refused(file: Path) -> str:
    with pytest.raises(ConfigError) as caught:
        list(read_properties(file))
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_each_property_has_its_line(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_bytes(b"# a comment\r\nport = 1\r\n\r\nhost: a\\\r\n b\r\nseed 5")
    assert list(read_properties(file)) == [(2, "port", "1"), (4, "host", "ab"), (6, "seed", "5")]


def test_an_escape_that_is_none_is_named_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("port = 1\npassword = \\u00zz\n")
    assert refused(file).startswith(f"{file}:2: ")


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such files")
def test_a_device_or_a_pipe_is_not_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    link = tmp_path / "link"
    link.symlink_to(pipe)
    for file in (Path("/dev/zero"), pipe, link):
        assert refused(file) == f"{file}: is a device or a pipe, expected a text file in UTF-8"


def test_a_folder_and_a_file_that_is_too_large_are_named(tmp_path: Path) -> None:
    assert refused(tmp_path).startswith(f"{tmp_path}: cannot be read (")
    file = tmp_path / "large"
    file.write_bytes(b"#" * (MOST_BYTES + 1))
    assert refused(file) == f"{file}: has more than 1048576 bytes, expected a text file with settings"
    file.write_bytes(b"#" * MOST_BYTES)
    assert list(read_properties(file)) == []
