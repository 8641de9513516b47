"""The names of entries in a ZIP file."""

from __future__ import annotations

import struct
import zipfile
import zlib

import pytest

from spielleiter.match.packages.archive import name_findings, name_of


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
        ("a/b.txt", []),
        ("a/.hidden", []),
        ("a..b", []),
        ("..", ["leaves-folder"]),
        ("a/..", ["leaves-folder"]),
        ("a\\..\\b", ["leaves-folder"]),
        ("/a", ["absolute-path"]),
        ("c:a", ["drive-letter"]),
        ("a\x7f", ["control-character"]),
        ("x/" * 3000, ["long-path"]),
        ("x/" * 63 + "x", []),
        ("x/" * 64 + "x", ["long-path"]),
        (("x" * 255 + "/") * 8, []),
        (("x" * 255 + "/") * 9, ["long-path"]),
        ("ä" * 128, ["long-name"]),
        ("a/CON", ["windows-name"]),
        ("a/lpt1.txt", ["windows-name"]),
        ("a./b", ["windows-name"]),
        ("a?", ["windows-name"]),
        ("console.txt", []),
        ("u\u0308", ["decomposed-name"]),
        (".DS_Store", ["macos-files"]),
    ],
)
def test_a_name_is_examined(name: str, codes: list[str]) -> None:
    assert [each.code for each in name_findings([info(name.encode(), is_utf8=True)])] == codes


def test_names_with_the_same_fault_are_one_finding() -> None:
    findings = list(name_findings([info(b"nul"), info(b"../a"), info(b"aux"), info(b"../b")]))
    assert [(each.code, each.file) for each in findings] == [("windows-name", "nul"), ("leaves-folder", "../a")]
    assert "nul (and 1 more)" in findings[0].text
