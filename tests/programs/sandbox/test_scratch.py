"""The folders of a run: copied, compared and removed."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

import pytest

from spielleiter.programs.processes import start_ticks_of
from spielleiter.programs.sandbox import run as module
from spielleiter.programs.sandbox.run import Scratch
from spielleiter.programs.temporary_folders import is_stale, remove_folder, remove_stale_folders


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to copy; the folders of runs are made beside it."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder = tmp_path / "source"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "data").write_text("12345")
    (folder / "link").symlink_to("sub/data")
    (folder / "main").write_text("#!/bin/sh\n")
    (folder / "main").chmod(0o755)
    return folder


def test_a_copy_keeps_modes_and_links(source: Path) -> None:
    scratch = Scratch(source)
    program = scratch.layout.program
    assert (program / "sub" / "data").read_text() == "12345"
    assert (program / "link").readlink() == Path("sub/data")
    assert os.access(program / "main", os.X_OK)
    assert scratch.layout.root.stat().st_mode & 0o077 == 0
    assert scratch.written() == (0, 0)
    scratch.remove()
    assert not scratch.layout.root.exists()


def test_new_and_changed_files_are_counted(source: Path) -> None:
    scratch = Scratch(source)
    (scratch.layout.program / "sub" / "data").write_text("changed")
    (scratch.layout.home / "new").write_text("123")
    (scratch.layout.temporary / "empty").touch()
    (scratch.layout.program / "main").unlink()
    assert scratch.written() == (3, 10)
    scratch.remove()


def test_folders_that_a_program_has_locked_are_removed(source: Path) -> None:
    scratch = Scratch(source)
    (scratch.layout.home / "deep").mkdir()
    (scratch.layout.home / "deep" / "file").touch()
    (scratch.layout.home / "deep").chmod(0)
    scratch.remove()
    assert not scratch.layout.root.exists()


def test_nothing_is_left_if_the_copy_fails(source: Path) -> None:
    with pytest.raises(OSError):
        Scratch(source / "missing")
    assert list(source.parent.glob("*/*-*")) == []


def test_only_folders_of_ended_processes_are_stale(source: Path) -> None:
    current = Scratch(source)
    own_ticks = start_ticks_of(os.getpid())
    for name in (
        "spielleiter-1-0-aa",
        "spielleiter-999999999-5-bb",
        f"spielleiter-{os.getpid()}-1-cc",
        "spielleiter-x",
    ):
        (source.parent / name).mkdir()
    remove_stale_folders()
    left = {path.name for path in source.parent.iterdir()}
    assert left == {"source", "spielleiter-x", current.layout.root.parent.name}
    assert current.layout.root.is_dir()
    assert not is_stale(f"spielleiter-{os.getpid()}-{own_ticks}-{secrets.token_hex(2)}")
    assert not is_stale("other-1-1-1")
    current.remove()


def test_deeply_nested_folders_are_counted_and_removed(source: Path) -> None:
    scratch = Scratch(source)
    (scratch.layout.home / "new").write_text("123")
    descriptor = os.open(scratch.layout.home, os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("d", dir_fd=descriptor)
        below = os.open("d", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = below
    os.close(descriptor)
    assert scratch.written() == (1, 3)
    scratch.remove()
    assert not scratch.layout.root.exists()


def test_a_source_that_is_nested_too_deeply_is_an_error_of_the_system(source: Path) -> None:
    inner = source
    for _ in range(1500):
        inner /= "d"
        inner.mkdir()
    with pytest.raises(OSError, match="name too long"):
        Scratch(source)
    assert list(source.parent.glob("*/*-*")) == []
    remove_folder(source)  # pytest cannot remove it


def test_the_holes_of_a_sparse_file_are_not_written(source: Path) -> None:
    scratch = Scratch(source)
    with (scratch.layout.temporary / "sparse").open("wb") as file:
        file.truncate(2**40)
    assert scratch.written() == (1, 0)
    scratch.remove()


def test_counting_is_limited_and_follows_no_link(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = Scratch(source)
    (scratch.layout.home / "loop").symlink_to(".")
    (scratch.layout.home / "all").symlink_to("/")
    for number in range(20):
        (scratch.layout.temporary / str(number)).touch()
    assert scratch.written() == (20, 0)
    monkeypatch.setattr(module, "MAX_COUNTED", 10)
    assert scratch.written()[0] <= 10
    scratch.remove()
