"""Reads a ZIP file that may come from anybody, within limits, and examines the names of its entries.

No more than the limits below is read, decompressed or kept, whatever the file says about itself. An archive without RED
findings has distinct relative paths with forward slashes that stay in their folder, no links, and contents whose
checksums are right.
"""

from __future__ import annotations

import io
import lzma
import re
import stat
import struct
import unicodedata
import warnings
import zipfile
import zlib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Final

from spielleiter.programs.packages.faults import Finding, Level, PackageError, finding_of

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
MAX_ENTRIES: Final = 20_000
MAX_UNPACKED: Final = 1024 * 1024 * 1024
"""Bytes of all files together."""
MAX_RATIO: Final = 200
"""A larger file that grows by more than this factor is taken for a ZIP bomb."""
MIN_BOMB: Final = 16 * 1024 * 1024
"""Bytes that a file may unpack to, however small it is in the ZIP file."""
MAX_DIRECTORY: Final = 8 * 1024 * 1024
"""Bytes of the list of entries, which is read at once."""
MAX_INNER: Final = 128 * 1024 * 1024
"""Bytes of a file that is itself a ZIP file, such as a JAR file; a larger one is not looked at."""
_CHUNK: Final = 64 * 1024
_LOCAL_HEADER: Final = 30
_ENCRYPTED: Final = 0x1 | 0x40
_METHODS: Final = {
    zipfile.ZIP_STORED: "stored",
    zipfile.ZIP_DEFLATED: "deflate",
    9: "deflate64",
    zipfile.ZIP_BZIP2: "bzip2",
    zipfile.ZIP_LZMA: "LZMA",
    93: "Zstandard",
    95: "XZ",
    98: "PPMd",
    99: "AES",
}
_SUPPORTED: Final = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_OTHER_KINDS: Final = {
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"Rar!": "a RAR archive",
    b"\x1f\x8b": "a gzip file, such as .tar.gz",
    b"BZh": "a bzip2 file",
    b"\xfd7zXZ": "an xz file",
    b"\x7fELF": "a program",
    b"MZ": "a program for Windows",
    b"#!": "a script",
}
DAMAGE: Final = (
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    NotImplementedError,  # a version of the format that Python does not know
    RuntimeError,
    ValueError,  # negative offsets; UnicodeDecodeError
    OverflowError,
)
"""What `zipfile` raises for files that are not as they should be."""


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


@dataclass(frozen=True, slots=True)
class Entry:
    """A file or folder in a ZIP file."""

    path: PurePosixPath
    size: int
    """Bytes after unpacking, 0 for a folder."""
    is_folder: bool
    info: zipfile.ZipInfo = field(repr=False, compare=False)


class _DirectoryTooLargeError(Exception):
    """The list of entries is too large."""


class _BoundedFile(io.BufferedReader):
    """A file of which nobody reads more than `limit` bytes at once."""

    limit = MAX_DIRECTORY

    def read(self, size: int | None = -1, /) -> bytes:
        is_bounded = size is not None and 0 <= size <= self.limit
        content = super().read(size if is_bounded else self.limit + 1)
        if len(content) > self.limit:
            raise _DirectoryTooLargeError
        return content


class PackageArchive:
    """An open ZIP file: its entries, and what is wrong with it; `findings` without RED ones make it usable."""

    def __init__(self, path: Path, archive: zipfile.ZipFile) -> None:
        self.path = path
        self._archive = archive
        self.findings: list[Finding] = []
        self.entries: tuple[Entry, ...] = ()
        self.files: dict[PurePosixPath, Entry] = {}
        self.folders: set[PurePosixPath] = set()
        """All folders, also those that have no entry of their own."""
        self._names: defaultdict[PurePosixPath, list[str]] = defaultdict(list)
        self.findings += self._form_findings()
        if self.is_usable:
            entries = []
            for info in archive.infolist():
                name = name_of(info)[0]
                is_folder = name.endswith("/")
                size = 0 if is_folder else info.file_size
                if name.strip("./"):
                    entries.append(Entry(PurePosixPath(name), size, is_folder, info))
            self.entries = tuple(entries)
            self.files = {each.path: each for each in self.entries if not each.is_folder}
            self.folders = {each.path for each in self.entries if each.is_folder}
            self.folders |= {parent for each in self.entries for parent in each.path.parents}
            for each in (*self.files, *self.folders):
                if each.parts:
                    self._names[each.parent].append(each.name)
            files = [each.path for each in self.entries if not each.is_folder]
            self.findings += clash_findings(files, self.folders)
            if not files:
                self.findings.append(finding_of("empty-zip"))
        if self.is_usable:  # files that are damaged are found by decompressing all of them
            try:
                for entry in self.files.values():
                    for _ in self.chunks(entry):
                        pass
            except PackageError as error:
                self.findings += error.findings

    @property
    def is_usable(self) -> bool:
        """Whether there is no RED finding."""
        return all(each.level is not Level.RED for each in self.findings)

    def has(self, path: PurePosixPath) -> bool:
        """Whether there is such a file or folder."""
        return path in self.files or path in self.folders

    def names_in(self, folder: PurePosixPath) -> list[str]:
        """The names of the files and folders in a folder."""
        return self._names.get(folder, [])

    def chunks(self, entry: Entry) -> Iterator[bytes]:
        """Decompress a file piece by piece, up to its declared size. Raises PackageError if it is damaged."""
        name = str(entry.path)
        try:
            with self._archive.open(entry.info) as file:
                left = entry.size
                while left > 0 and (chunk := file.read(min(_CHUNK, left))):
                    left -= len(chunk)
                    yield chunk
                if left or file.read(1):  # the last read compares the checksum
                    raise PackageError(self.path, [finding_of("damaged-zip", reason=f"{name} has another size")])
        except zipfile.BadZipFile as error:
            if str(error).startswith("Bad CRC-32"):
                raise PackageError(self.path, [finding_of("wrong-checksum", [name])]) from None
            raise PackageError(self.path, [finding_of("damaged-zip", reason=f"{name}: {error}")]) from None
        except (*DAMAGE, OSError) as error:
            raise PackageError(self.path, [finding_of("damaged-zip", reason=f"{name}: {error}")]) from None

    def read(self, entry: Entry, limit: int) -> bytes:
        """Return the first `limit` bytes of a file, or all of a shorter one. Raises PackageError if it is damaged."""
        content = bytearray()
        for chunk in self.chunks(entry):
            content += chunk
            if len(content) >= limit:
                break
        return bytes(content[:limit])

    def _form_findings(self) -> Iterator[Finding]:
        """Find what is wrong with the list of entries, without reading a file."""
        infos = self._archive.infolist()
        if len(infos) > MAX_ENTRIES:
            yield finding_of("too-many-files", limit=MAX_ENTRIES)
            return
        yield from name_findings(infos)
        files = [info for info in infos if not name_of(info)[0].endswith("/")]
        kinds = {id(info): stat.S_IFMT(info.external_attr >> 16) for info in files if info.create_system == 3}
        yield from _about("symbolic-link", [each for each in files if kinds.get(id(each)) == stat.S_IFLNK])
        usual = {0, stat.S_IFREG, stat.S_IFLNK, stat.S_IFDIR}
        yield from _about("special-file", [each for each in files if kinds.get(id(each), 0) not in usual])
        encrypted = [each for each in files if each.flag_bits & _ENCRYPTED]
        yield from _about("encrypted", encrypted)
        other = [each for each in files if each.compress_type not in _SUPPORTED and each not in encrypted]
        if other:
            method = other[0].compress_type
            yield from _about("unsupported-compression", other, method=_METHODS.get(method, f"method {method}"))
        if sum(info.file_size for info in infos) > MAX_UNPACKED:
            yield finding_of("too-large", limit=MAX_UNPACKED // 1024**2)
        bombs = [each for each in files if each.file_size > max(MIN_BOMB, MAX_RATIO * each.compress_size)]
        if sum(each.file_size for each in files) > max(MIN_BOMB, MAX_RATIO * sum(each.compress_size for each in files)):
            bombs = bombs or files  # each of them small, but not all together
        yield from _about("zip-bomb", bombs, limit=MAX_RATIO)
        # the entries that reach into the one after them, or into the list of entries
        in_order = sorted(infos, key=lambda info: info.header_offset)
        ends = [*(each.header_offset for each in in_order[1:]), self._archive.start_dir]
        overlapping = [
            info
            for info, end in zip(in_order, ends, strict=False)  # an archive may have no entries
            if info.header_offset + _LOCAL_HEADER + info.compress_size > end
        ]
        yield from _about("overlapping-files", overlapping)


@contextmanager
def open_archive(path: Path) -> Iterator[PackageArchive]:
    """Open the ZIP file at `path` and examine its form. Raises PackageError if its list of entries cannot be read."""
    try:
        is_regular = stat.S_ISREG(path.stat().st_mode)  # a pipe or a device may have no end
        file = _BoundedFile(path.open("rb", buffering=0)) if is_regular else None
    except OSError as error:
        raise PackageError(path, [finding_of("unreadable-file", reason=error.strerror or str(error))]) from None
    if file is None:
        raise PackageError(path, [finding_of("unreadable-file", reason="it is not a file")])
    with file:
        try:
            with warnings.catch_warnings(action="ignore"):
                archive = zipfile.ZipFile(file)
        except _DirectoryTooLargeError:
            raise PackageError(path, [finding_of("too-many-files", limit=MAX_ENTRIES)]) from None
        except UnicodeDecodeError as error:
            name = error.object.decode(errors="backslashreplace")
            raise PackageError(path, [finding_of("broken-utf8-name", [name])]) from None
        except (*DAMAGE, OSError) as error:
            raise PackageError(path, [_unreadable(file, error)]) from None
        with archive:
            yield PackageArchive(path, archive)


def read_inner_zip(archive: PackageArchive, entry: Entry) -> zipfile.ZipFile | None:
    """Open a file of a package that is itself a ZIP file; None if it is too large.

    Raises OSError and the exceptions in `DAMAGE`.
    """
    if entry.size > MAX_INNER:
        return None
    content = io.BytesIO(archive.read(entry, MAX_INNER))
    try:
        with warnings.catch_warnings(action="ignore"):
            return zipfile.ZipFile(_BoundedFile(content))
    except _DirectoryTooLargeError:
        return None


def read_inner_file(archive: zipfile.ZipFile, name: str, limit: int) -> bytes:
    """Return the first `limit` bytes of a file in an inner ZIP file. Raises OSError and the exceptions in `DAMAGE`."""
    info = archive.getinfo(name)
    if info.compress_type not in _SUPPORTED:  # others may take any amount of memory
        raise NotImplementedError("unsupported compression")
    with archive.open(info) as file:
        return file.read(limit)


def _unreadable(file: _BoundedFile, error: Exception) -> Finding:
    """The finding about a file that cannot be read as a ZIP file."""
    file.seek(0)
    head = file.read(8)
    if head.startswith(b"PK"):
        return finding_of("damaged-zip", reason=str(error))
    if not head:
        return finding_of("not-a-zip", kind=", it is empty")
    kind = next((f" but {kind}" for magic, kind in _OTHER_KINDS.items() if head.startswith(magic)), "")
    return finding_of("not-a-zip", kind=kind)


def _about(code: str, infos: list[zipfile.ZipInfo], **values: object) -> Iterator[Finding]:
    if infos:
        yield finding_of(code, [name_of(each)[0] for each in infos], **values)
