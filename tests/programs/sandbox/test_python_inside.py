"""Running this Python in a sandbox that has none."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from spielleiter.programs.sandbox import pythons as module
from spielleiter.programs.sandbox.pythons import TOOLS, python_inside

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="sandboxes with a Python of ours exist on Linux only")


def test_everything_that_the_command_names_is_mounted() -> None:
    python = python_inside()
    assert python.command[-1] == f"{TOOLS}/inside.py"
    for path, source in python.mounts.items():
        assert path.startswith(f"{TOOLS}/")
        assert Path(source).exists()
    for word in python.command:
        if word.startswith(TOOLS):
            for path in word.split(":"):
                mount = next(each for each in python.mounts if path == each or path.startswith(f"{each}/"))
                assert Path(python.mounts[mount] + path[len(mount) :]).exists()


def test_pythons_own_libraries_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise an interpreter could load the libpython of another one, which the system has."""
    maps = "7f 00 r 0 1 /lib/ld-musl-x86_64.so.1\n7f 00 r 0 1 /usr/lib/libz.so.1\n7f 00 r 0 1\n7f 00 r 0 1 [stack]\n"
    (tmp_path / "maps").write_text(maps)
    monkeypatch.setattr(module, "_MAPS", tmp_path / "maps")
    python = python_inside()
    assert python.command[:3] == (
        f"{TOOLS}/lib0/ld-musl-x86_64.so.1",
        "--library-path",
        f"{TOOLS}/python/lib:{TOOLS}/lib0:{TOOLS}/lib1",
    )
    assert (python.mounts[f"{TOOLS}/lib0"], python.mounts[f"{TOOLS}/lib1"]) == ("/lib", "/usr/lib")


def test_a_static_python_needs_no_loader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "maps").write_text("7f 00 r 0 1 /usr/bin/python3\n")
    monkeypatch.setattr(module, "_MAPS", tmp_path / "maps")
    assert python_inside().command[0].startswith(f"{TOOLS}/python/")


def test_a_python_outside_of_its_folder_cannot_be_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    other = shutil.which("sh")
    assert other is not None
    monkeypatch.setattr("sys.executable", other)
    monkeypatch.setattr("sys.base_prefix", "/nowhere")
    with pytest.raises(OSError, match="is not below /nowhere"):
        python_inside()
