"""Files are written as a whole, or not at all."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from spielleiter.common.files import require_writable, write_whole

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files")


@pytest.mark.parametrize(
    ("content", "expected"),
    [(b"\0\r\n", b"\0\r\n"), ("Zug\n", b"Zug\n"), ("\udcfc", b"\\udcfc"), ("ü", "ü".encode())],
)
def test_a_file_gets_the_content_and_nothing_is_left_beside_it(
    content: bytes | str, expected: bytes, tmp_path: Path
) -> None:
    path = tmp_path / ("ü" * 100 + ".html")
    for _ in range(2):
        write_whole(path, content)
        assert path.read_bytes() == expected
    assert list(tmp_path.iterdir()) == [path]


def test_a_reader_of_the_old_file_keeps_it(tmp_path: Path) -> None:
    """The new content is not written into the old file, which an end of this process would leave incomplete."""
    path, other = tmp_path / "report.html", tmp_path / "other"
    path.write_text("old")
    other.hardlink_to(path)
    write_whole(path, "new")
    assert (path.read_text(), other.read_text()) == ("new", "old")


@pytest.mark.parametrize("function", [require_writable, lambda path: write_whole(path, "new")])
def test_an_error_names_the_file_and_changes_nothing(function: object, tmp_path: Path) -> None:
    assert callable(function)
    for path in (tmp_path / "absent" / "report.html", tmp_path):
        with pytest.raises(OSError, match="report.html" if path != tmp_path else str(tmp_path)):
            function(path)
    assert list(tmp_path.iterdir()) == []


def test_whether_a_file_can_be_written_is_tried_without_making_it(tmp_path: Path) -> None:
    require_writable(tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "report.html").write_text("old")
    require_writable(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text() == "old"


@POSIX
def test_a_symbolic_link_stays(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("report.html")
    write_whole(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "report.html").read_text() == "new"


@POSIX
def test_a_device_is_written_to() -> None:
    require_writable(Path(os.devnull))
    write_whole(Path(os.devnull), "new")
    assert not Path(os.devnull).is_file()


if sys.platform != "win32":

    def test_a_pipe_is_written_to(tmp_path: Path) -> None:
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        require_writable(pipe)
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        try:
            write_whole(pipe, "new")
            assert os.read(reader, 16) == b"new"
        finally:
            os.close(reader)
