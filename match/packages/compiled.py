"""Compiled programs: for which system and processor they are, and what they need of Linux and of Java.

Only the few fields that decide whether a program can be started are read, as described in the ELF specification
(System V ABI), in the Linux Standard Base for the versions of symbols, and in the Java Virtual Machine Specification.

Invariants: any bytes may be passed; a damaged program is a finding, never an exception. A JAR file is read within the
same limits as a package.
"""

from __future__ import annotations

import re
import struct
import zipfile
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final

from spielleiter.match.packages.archive import DAMAGE, Archive, Entry, read_inner_file, read_inner_zip
from spielleiter.match.packages.faults import Finding, finding_of

NEWEST_GLIBC: Final = (2, 36)
"""The version of Debian 12; a program that needs a newer one may not start in the contest."""

_ELF: Final = b"\x7fELF"
_PE: Final = b"MZ"
_MACHO: Final = (b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe", b"\xfe\xed\xfa\xcf", b"\xfe\xed\xfa\xce")
_FAT: Final = b"\xca\xfe\xba\xbe"
_OLDEST_CLASS: Final = 45
"""The first version of Java's class files, which begin like programs of macOS for several processors."""

_CLASS_64: Final = 2
_LITTLE_ENDIAN: Final = 1
_X86_64: Final = 62
_I386: Final = 3
_PROCESSORS: Final = {
    40: "32-bit ARM",
    183: "64-bit ARM",
    243: "RISC-V",
    8: "MIPS",
    20: "PowerPC",
    21: "PowerPC",
    22: "S390",
}
_RELOCATABLE, _EXECUTABLE, _SHARED = 1, 2, 3
_LOAD, _DYNAMIC, _INTERPRETER = 1, 2, 3
_NEEDED, _STRING_TABLE, _VERSIONS_NEEDED = 1, 5, 0x6FFFFFFE
_MAX_HEADERS: Final = 256
_MAX_VERSIONS: Final = 4096
_LOADER: Final = "/lib64/ld-linux-x86-64.so.2"
_USUAL_LIBRARIES: Final = re.compile(
    r"(lib(c|m|pthread|dl|rt|util|resolv|gcc_s|stdc\+\+|atomic|gomp|z)|ld-linux-x86-64)\.so\.[0-9]+"
)
_GLIBC: Final = re.compile(r"GLIBC_(\d+)\.(\d+)")


def is_machine_code(head: bytes) -> bool:
    """Whether a file that begins with these bytes is a program for some processor."""
    return head.startswith((_ELF, _PE, *_MACHO)) or _is_fat(head)


def is_class_file(head: bytes) -> bool:
    """Whether a file that begins with these bytes is a compiled class of Java."""
    return head.startswith(_FAT) and not _is_fat(head)


def _is_fat(head: bytes) -> bool:
    return head.startswith(_FAT) and len(head) >= 8 and int.from_bytes(head[4:8], "big") < _OLDEST_CLASS


def program_findings(name: str, content: bytes, file_names: Collection[str]) -> Iterator[Finding]:
    """Find why the program `name` with this content does not start on 64-bit Linux.

    `file_names` are the names, without folders, of the files in the package; they may be libraries.
    """
    if content.startswith(_PE):
        yield finding_of("windows-program", [name])
    elif not content.startswith(_ELF):
        yield finding_of("macos-program", [name])
    else:
        yield from _elf_findings(name, content, file_names)


def _elf_findings(name: str, content: bytes, file_names: Collection[str]) -> Iterator[Finding]:
    try:
        kind, machine = struct.unpack_from("<HH" if content[5] == _LITTLE_ENDIAN else ">HH", content, 16)
        if machine == _I386 or (machine == _X86_64 and content[4] != _CLASS_64):
            yield finding_of("elf-32-bit", [name])
        elif machine != _X86_64:
            yield finding_of("other-processor", [name], processor=_PROCESSORS.get(machine, f"type {machine}"))
        elif kind not in {_EXECUTABLE, _SHARED}:
            yield finding_of("not-a-program", [name])
        else:
            yield from _linking_findings(name, _read_linking(content), kind, file_names)
    except (struct.error, IndexError, ValueError, OverflowError):  # OverflowError: an offset beyond every file
        yield finding_of("damaged-program", [name])


@dataclass(slots=True)
class _Linking:
    """What a program needs at its start."""

    entry: int
    """The address at which it starts; 0 in a library."""
    loader: str = ""
    libraries: list[str] = field(default_factory=list)
    glibc: tuple[int, int] = (0, 0)


def _linking_findings(name: str, linking: _Linking, kind: int, file_names: Collection[str]) -> Iterator[Finding]:
    if kind == _SHARED and not linking.loader and not linking.entry:
        yield finding_of("not-a-program", [name])
        return
    if linking.loader not in {"", _LOADER}:
        yield finding_of("unusual-loader", [name], loader=linking.loader)
        return
    missing = [each for each in linking.libraries if not _USUAL_LIBRARIES.fullmatch(each) and each not in file_names]
    if missing:
        yield finding_of("missing-library", [name], libraries=", ".join(missing))
    if linking.glibc > NEWEST_GLIBC:
        version, newest = (".".join(map(str, each)) for each in (linking.glibc, NEWEST_GLIBC))
        yield finding_of("newer-glibc", [name], version=version, newest=newest)


def _read_linking(content: bytes) -> _Linking:
    """Read what a 64-bit ELF file needs. Raises struct.error, IndexError, ValueError, OverflowError."""
    entry, headers = struct.unpack_from("<QQ", content, 24)
    header_size, count = struct.unpack_from("<HH", content, 54)
    linking = _Linking(entry)
    segments = []
    for number in range(min(count, _MAX_HEADERS)):
        kind, _, offset, address, _, size = struct.unpack_from("<IIQQQQ", content, headers + number * header_size)
        segments.append((kind, offset, address, size))
        if offset + size > len(content):
            raise ValueError("a segment is missing")
        if kind == _INTERPRETER:
            linking.loader = content[offset : offset + size].rstrip(b"\0").decode()
    for kind, offset, _, size in segments:
        if kind == _DYNAMIC:
            loads = [(each[2], each[1], each[3]) for each in segments if each[0] == _LOAD]
            _read_dynamic(content, offset, size, loads, linking)
    return linking


def _read_dynamic(content: bytes, offset: int, size: int, loads: list[tuple[int, int, int]], linking: _Linking) -> None:
    tags = []
    for place in range(offset, offset + size - 15, 16):
        tag, value = struct.unpack_from("<QQ", content, place)
        if tag == 0:
            break
        tags.append((tag, value))
    by_tag = dict(tags)
    if _STRING_TABLE not in by_tag:
        return
    strings = _file_offset(by_tag[_STRING_TABLE], loads)
    linking.libraries = [_string(content, strings + value) for tag, value in tags if tag == _NEEDED]
    if _VERSIONS_NEEDED in by_tag:
        linking.glibc = _newest_glibc(content, _file_offset(by_tag[_VERSIONS_NEEDED], loads), strings)


def _newest_glibc(content: bytes, place: int, strings: int) -> tuple[int, int]:
    """The highest version of glibc among the versions that a program needs."""
    newest = (0, 0)
    left = _MAX_VERSIONS
    while left > 0:
        _, count, _, first, following = struct.unpack_from("<HHIII", content, place)
        version = place + first
        for _ in range(min(count, left)):
            left -= 1
            _, _, _, name, step = struct.unpack_from("<IHHII", content, version)
            if found := _GLIBC.fullmatch(_string(content, strings + name)[:32]):
                newest = max(newest, (int(found[1]), int(found[2])))
            version += step
        left -= 1
        if not following:
            break
        place += following
    return newest


def _file_offset(address: int, loads: list[tuple[int, int, int]]) -> int:
    """The place in the file of what is loaded to an address. Raises ValueError if nothing is."""
    for start, offset, size in loads:
        if start <= address < start + size:
            return address - start + offset
    raise ValueError("an address without content")


def _string(content: bytes, place: int) -> str:
    return content[place : content.index(b"\0", place)].decode()


NEWEST_JAVA: Final = 21
"""The newest release of Java that can be expected in the contest."""

_FIRST_VERSION: Final = 44
"""The version of a class file is the release of Java plus this number."""
_MANIFEST: Final = "META-INF/MANIFEST.MF"
_MAX_MANIFEST: Final = 256 * 1024


def jar_findings(archive: Archive, entry: Entry) -> Iterator[Finding]:
    """Find why ``java -jar`` does not start this file of the package."""
    name = str(entry.path)
    try:
        jar = read_inner_zip(archive, entry)
        if jar is None:
            return  # too large to be looked at
        with jar:
            yield from _open_jar_findings(archive, entry.path, jar)
    except (*DAMAGE, OSError):
        yield finding_of("damaged-jar", [name])


def _open_jar_findings(archive: Archive, path: PurePosixPath, jar: zipfile.ZipFile) -> Iterator[Finding]:
    name = str(path)
    names = set(jar.namelist())
    manifest_name = next((each for each in names if each.upper() == _MANIFEST), None)
    if manifest_name is None:
        yield finding_of("jar-without-manifest", [name])
        return
    manifest = read_manifest(read_inner_file(jar, manifest_name, _MAX_MANIFEST))
    main_class = manifest.get("main-class")
    if not main_class:
        yield finding_of("jar-without-main-class", [name])
        return
    libraries = manifest.get("class-path", "").split()
    missing = [each for each in libraries if ":" not in each and not archive.has(path.parent / each)]
    if missing:
        yield finding_of("jar-library-missing", [name], libraries=", ".join(missing))
    class_file = f"{main_class.replace('.', '/')}.class"
    if class_file in names:
        yield from class_findings(name, read_inner_file(jar, class_file, 8))
    elif not libraries:
        yield finding_of("jar-main-class-missing", [name], main_class=main_class)


def read_manifest(content: bytes) -> dict[str, str]:
    """The main section of a manifest, with lower-case names; a line that begins with a space continues the last one."""
    values: dict[str, str] = {}
    last = ""
    for line in content.decode(errors="replace").splitlines():
        if not line:
            break
        if line.startswith(" ") and last:
            values[last] += line[1:]
        elif ":" in line:
            last, _, value = line.partition(":")
            last = last.strip().lower()
            values[last] = value.strip()
    return values


def class_findings(name: str, head: bytes) -> Iterator[Finding]:
    """Find whether the class file that begins with `head` needs a newer Java; `name` is the file that is shown."""
    release = int.from_bytes(head[6:8], "big") - _FIRST_VERSION
    if release > NEWEST_JAVA:
        yield finding_of("newer-java", [name], version=release, newest=NEWEST_JAVA)
