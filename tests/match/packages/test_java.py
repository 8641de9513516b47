"""JAR files and classes."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spielleiter.match.packages import archive
from spielleiter.match.packages.compiled import class_findings, read_manifest
from spielleiter.match.packages.inspection import inspect_package
from tests.match.packages.binaries import jar, java_class
from tests.match.packages.making import java


def codes(folder: Path, content: bytes) -> list[str]:
    path = folder / "player.zip"
    path.write_bytes(java(content))
    return [each.code for each in inspect_package(path).findings]


def test_a_manifest_is_read_as_java_reads_it() -> None:
    content = b"Manifest-Version: 1.0\r\nMAIN-CLASS: a.b.\r\n Main\r\nno colon\r\n\r\nName: x\r\nMain-Class: other\r\n"
    assert read_manifest(content) == {"manifest-version": "1.0", "main-class": "a.b.Main"}


@pytest.mark.parametrize(("release", "count"), [(8, 0), (21, 0), (22, 1)])
def test_the_release_of_a_class_is_compared(release: int, count: int) -> None:
    assert len(list(class_findings("Main.class", java_class(release)))) == count


@pytest.mark.parametrize(
    ("manifest", "expected"),
    [
        ("Main-Class: bot.Main\n", []),
        ("Main-Class: Other\nClass-Path: ../bot.jar file:/x.jar\n", ["jar-library-missing"]),
        ("Main-Class: Other\nClass-Path: bot.jar\n", []),
        ("Main-Class:\n", ["jar-without-main-class"]),
    ],
)
def test_the_main_class_may_be_in_a_library(manifest: str, expected: list[str], tmp_path: Path) -> None:
    assert codes(tmp_path, jar(manifest)) == expected


def test_a_large_jar_file_is_not_examined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert codes(tmp_path, jar(None)) == ["jar-without-manifest"]
    monkeypatch.setattr(archive, "MAX_INNER", 10)
    assert codes(tmp_path, jar(None)) == []


def test_a_jar_file_with_a_large_list_of_entries_is_not_examined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = jar(None, {"x" * 60_000: b"", "y" * 60_000: b""})
    monkeypatch.setattr("spielleiter.match.packages.archive._BoundedFile.limit", 70_000)
    assert codes(tmp_path, content) == []


def test_unusual_compression_counts_as_damage(tmp_path: Path) -> None:
    content = jar().replace(b"\x08\x00", b"\x0e\x00")
    assert codes(tmp_path, content) == ["damaged-jar"]


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(0, 500), st.binary(max_size=4), st.integers(0, 4)), min_size=1, max_size=4))
def test_any_changed_jar_file_can_be_examined(changes: list[tuple[int, bytes, int]]) -> None:
    content = bytearray(jar())
    for place, new, length in changes:
        content[place : place + length] = new
    with tempfile.TemporaryDirectory() as folder:
        assert len(codes(Path(folder), bytes(content))) <= 2
