"""ZIP files from anybody: only the documented exception, nothing beyond the limits, nothing outside the folder."""

from __future__ import annotations

import os
import struct
import tempfile
import warnings
import zipfile
import zlib
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from spielleiter.programs.packages import archive
from spielleiter.programs.packages.archive import name_findings, name_of
from spielleiter.programs.packages.faults import PackageError
from spielleiter.programs.packages.package import inspect_package, unpack_package
from tests.programs.packages.broken_packages import BROKEN, SOUND
from tests.programs.packages.making import BOT, zipped

ORIGINALS = [each for each in (*(each.content for each in BROKEN.values()), *SOUND.values()) if len(each) < 10_000]
NAMES = st.lists(
    st.sampled_from(["..", ".", "", "/", "\\", "C:", "a", "ä", "\0", "start.sh", "A", "x" * 260]), min_size=1
)


def codes_of(path: Path) -> list[str]:
    return [each.code for each in inspect_package(path).findings]


def require_contained(content: bytes) -> None:
    """Inspect and unpack a package; everything that is written is below its folder and within the limits."""
    with tempfile.TemporaryDirectory() as name:
        outside = Path(name)
        path, folder = outside / "player.zip", outside / "inner" / "unpacked"
        path.write_bytes(content)
        inspection = inspect_package(path)
        if inspection.is_startable:
            assert unpack_package(path, folder).main == inspection.main
        else:
            with pytest.raises(PackageError):
                unpack_package(path, folder)
        written = [Path(parent, each) for parent, _, files in os.walk(outside) for each in files]
        assert all(each == path or folder in each.parents for each in written)
        assert not any(each.is_symlink() for each in written)
        assert sum(each.stat().st_size for each in written if each != path) <= archive.MAX_UNPACKED
        assert len(written) <= archive.MAX_ENTRIES + 1


@pytest.mark.slow
@given(
    st.sampled_from(ORIGINALS),
    st.lists(st.tuples(st.integers(0, 2**16), st.binary(max_size=6), st.integers(0, 6)), min_size=1, max_size=4),
)
def test_a_changed_package_is_refused_or_unpacked(content: bytes, changes: list[tuple[int, bytes, int]]) -> None:
    """Each change replaces some bytes by others."""
    changed = bytearray(content)
    for place, new, length in changes:
        start = place % max(1, len(changed))
        changed[start : start + length] = new
    require_contained(bytes(changed))


@pytest.mark.slow
@given(st.lists(st.tuples(NAMES.map("/".join), st.binary(max_size=20)), max_size=4))
@example([("../../start.sh", b"x")])
@example([("a/start.sh", b"#!/bin/sh\n"), ("a", b"")])
def test_any_names_stay_in_the_folder(files: list[tuple[str, bytes]]) -> None:
    with tempfile.TemporaryFile() as file:
        with warnings.catch_warnings(action="ignore"), zipfile.ZipFile(file, "w") as made:  # for names used twice
            for name, content in files:
                made.writestr(zipfile.ZipInfo(name or "a"), content)
        file.seek(0)
        require_contained(file.read())


@pytest.mark.parametrize(
    ("limit", "value", "code"),
    [("MAX_UNPACKED", 5000, "too-large"), ("_BoundedFile.limit", 200, "too-many-files"), (None, None, None)],
)
def test_the_size_of_all_files_and_of_the_list_of_entries_is_limited(
    limit: str | None, value: int, code: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "player.zip"
    path.write_bytes(zipped({**BOT, "a.bin": bytes(3000), "b" * 200: bytes(3000)}))
    if limit is not None:
        monkeypatch.setattr(f"spielleiter.programs.packages.archive.{limit}", value)
    assert codes_of(path) == ([] if code is None else [code])


def test_a_size_that_is_declared_too_small_does_not_help(tmp_path: Path) -> None:
    """No more than the declared size is decompressed."""
    content = bytearray(zipped({"start.sh": "#!/bin/sh\n" + "#" * 100_000}))
    for signature, field in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        struct.pack_into("<I", content, content.find(signature) + field, 100)
    path = tmp_path / "player.zip"
    path.write_bytes(content)
    assert codes_of(path) in (["wrong-checksum"], ["damaged-zip"])


@pytest.mark.parametrize("kind", ["missing", "folder", "pipe"])
def test_what_is_no_file_cannot_be_read(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "player.zip"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe" and hasattr(os, "mkfifo"):
        os.mkfifo(path)
    assert codes_of(path) == ["unreadable-file"]


@pytest.mark.parametrize(
    ("content", "kind"), [(b"", "empty"), (b"Rar!\x1a\x07\x01\x00", "RAR"), (b"\x1f\x8b\x08", "gzip")]
)
def test_a_file_of_another_kind_is_named(content: bytes, kind: str, tmp_path: Path) -> None:
    path = tmp_path / "player.zip"
    path.write_bytes(content)
    (finding,) = inspect_package(path).findings
    assert finding.code == "not-a-zip"
    assert kind in finding.text


def test_a_zip_file_after_other_bytes_is_read(tmp_path: Path) -> None:
    """As self-extracting archives are."""
    path = tmp_path / "player.zip"
    path.write_bytes(b"#!/bin/sh\n" + zipped(BOT))
    assert codes_of(path) == []


def info(raw: bytes, *, is_utf8: bool = False, extra: bytes = b"") -> zipfile.ZipInfo:
    made = zipfile.ZipInfo("x")
    made.orig_filename = raw.decode() if is_utf8 else raw.decode("cp437")
    made.flag_bits = 0x800 if is_utf8 else 0
    made.extra = extra
    return made


def unicode_path(raw: bytes, name: bytes, version: int = 1) -> bytes:
    """The extra field of Info-ZIP with the name in UTF-8, after another field."""
    field = struct.pack("<BL", version, zlib.crc32(raw)) + name
    return struct.pack("<HH", 1, 2) + b"ab" + struct.pack("<HH", 0x7075, len(field)) + field


@pytest.mark.parametrize(
    ("entry", "name", "code"),
    [
        (info(b"a.txt"), "a.txt", None),
        (info("ä.txt".encode(), is_utf8=True), "ä.txt", None),
        (info(b"\x84.txt"), "ä.txt", "name-encoding"),
        (info("ä.txt".encode()), "ä.txt", "unmarked-utf8-name"),
        (info(b"\x84", extra=unicode_path(b"\x84", "ä".encode())), "ä", None),
        (info(b"\x84", extra=unicode_path(b"other", b"x")), "ä", "name-encoding"),
        (info(b"\x84", extra=unicode_path(b"\x84", b"\xff")), "ä", "name-encoding"),
        (info(b"\x84", extra=unicode_path(b"\x84", b"x", version=2)), "ä", "name-encoding"),
        (info(b"\x84", extra=b"\x75\x70\xff\xff"), "ä", "name-encoding"),
    ],
)
def test_a_name_is_decoded(entry: zipfile.ZipInfo, name: str, code: str | None) -> None:
    assert name_of(entry) == (name, code)


@pytest.mark.parametrize(
    ("name", "codes"),
    [
        ("a/.hidden", []),
        ("a..b", []),
        ("..", ["leaves-folder"]),
        ("a\\..\\b", ["leaves-folder"]),
        ("c:a", ["drive-letter"]),
        ("a\x7f", ["control-character"]),
        ("x/" * 3000, ["long-path"]),
        ("x/" * 63 + "x", []),
        ("x/" * 64 + "x", ["long-path"]),
        (("x" * 255 + "/") * 8, []),
        (("x" * 255 + "/") * 9, ["long-path"]),
        ("ä" * 128, ["long-name"]),
        ("a/CON", ["windows-name"]),
        ("a./b", ["windows-name"]),
        ("a?", ["windows-name"]),
        ("console.txt", []),
        (".DS_Store", ["macos-files"]),
    ],
)
def test_a_name_is_examined(name: str, codes: list[str]) -> None:
    assert [each.code for each in name_findings([info(name.encode(), is_utf8=True)])] == codes


def test_names_with_the_same_fault_are_one_finding() -> None:
    findings = list(name_findings([info(b"nul"), info(b"../a"), info(b"aux"), info(b"../b")]))
    assert [(each.code, each.file) for each in findings] == [("windows-name", "nul"), ("leaves-folder", "../a")]
    assert "nul (and 1 more)" in findings[0].text
