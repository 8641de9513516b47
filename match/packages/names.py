"""The names of the entries in a ZIP file: how they are encoded, and which of them are refused.

Invariants: a name without a RED finding is a relative path with forward slashes that stays in its folder. The result is
the same on every system and with every version of Python.
"""

from __future__ import annotations

import re
import struct
import unicodedata
import zipfile
import zlib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from pathlib import PurePosixPath
from typing import Final

from spielleiter.match.packages.faults import finding_of
from spielleiter.match.packages.finding import Finding

MAX_NAME: Final = 255
"""Bytes of a file's name on Linux."""
MAX_PATH: Final = 2048
"""Bytes of a path; Linux takes 4095, which include the folder into which the package is unpacked."""
MAX_DEPTH: Final = 64
"""Folders in each other."""

_UTF8_FLAG: Final = 0x800
_UNICODE_PATH: Final = 0x7075
_DRIVE: Final = re.compile(r"[A-Za-z]:")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_FORBIDDEN_ON_WINDOWS: Final = re.compile(
    r'[<>:"|?*]|[ .]$|^(con|prn|aux|nul|com[1-9]|lpt[1-9])(\..*)?$', re.IGNORECASE
)
_OF_MACOS: Final = frozenset({"__MACOSX", ".DS_Store"})


def name_of(info: zipfile.ZipInfo) -> tuple[str, str | None]:
    """Return an entry's name and the code of what is wrong with its encoding; None if nothing is.

    A name that is not marked as UTF-8 is read as UTF-8 all the same if it can be, as most programs on Linux do.
    """
    if info.flag_bits & _UTF8_FLAG or info.orig_filename.isascii():
        return info.orig_filename, None
    raw = info.orig_filename.encode("cp437")
    marked = _unicode_path(info.extra, raw)
    if marked is not None:
        return marked, None
    try:
        return raw.decode(), "unmarked-utf8-name"
    except UnicodeDecodeError:
        return info.orig_filename, "name-encoding"


def _unicode_path(extra: bytes, raw: bytes) -> str | None:
    """Return the name in the extra field "Unicode path" of Info-ZIP; None if there is none that belongs to `raw`."""
    while len(extra) >= 4:
        kind, size = struct.unpack_from("<HH", extra)
        field, extra = extra[4 : 4 + size], extra[4 + size :]
        if kind == _UNICODE_PATH and len(field) > 5 and field[0] == 1:
            (checksum,) = struct.unpack_from("<L", field, 1)
            try:
                return field[5:].decode() if checksum == zlib.crc32(raw) else None
            except UnicodeDecodeError:
                return None
    return None


def name_findings(infos: Sequence[zipfile.ZipInfo]) -> Iterator[Finding]:
    """Find what is wrong with the names of all entries: one finding for each fault, with the first such name."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for info in infos:
        name, encoding_fault = name_of(info)
        if encoding_fault is not None:
            found[encoding_fault].append(name)
        fault = _unusable(name)
        if fault is not None:
            found[fault].append(name)
            continue
        if not unicodedata.is_normalized("NFC", name):
            found["decomposed-name"].append(name)
        parts = PurePosixPath(name).parts
        if any(part in _OF_MACOS for part in parts):
            found["macos-files"].append(name)
        elif any(_FORBIDDEN_ON_WINDOWS.search(part) for part in parts):
            found["windows-name"].append(name)
    yield from (
        finding_of(code, names, limit=MAX_NAME, path=MAX_PATH, depth=MAX_DEPTH) for code, names in found.items()
    )


def _unusable(name: str) -> str | None:
    """Return the code of the fault that makes a name unusable as a path; None if it is usable."""
    if _CONTROL.search(name):
        return "control-character"
    if _DRIVE.match(name):
        return "drive-letter"
    if name.startswith(("/", "\\\\")):
        return "absolute-path"
    if ".." in re.split(r"[/\\]", name):
        return "leaves-folder"
    if "\\" in name:
        return "backslash-in-name"
    encoded = name.encode(errors="replace")
    if any(len(part) > MAX_NAME for part in encoded.split(b"/")):
        return "long-name"
    if len(encoded) > MAX_PATH or len(PurePosixPath(name).parts) > MAX_DEPTH:
        return "long-path"
    return None


def clash_findings(files: Sequence[PurePosixPath], folders: Collection[PurePosixPath]) -> Iterator[Finding]:
    """Find names that cannot stand side by side; `folders` are all folders, `files` may name a file several times."""
    counts = Counter(files)
    twice = [str(each) for each, count in counts.items() if count > 1]
    if twice:
        yield finding_of("duplicate-name", twice)
    both = [str(each) for each in counts if each in folders]
    if both:
        yield finding_of("file-and-folder", both)
    spelled: dict[str, PurePosixPath] = {}
    paths = sorted({*files, *folders})
    differing = [str(each) for each in paths if spelled.setdefault(str(each).casefold(), each) != each]
    if differing:
        yield finding_of("case-collision", differing)
