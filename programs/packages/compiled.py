"""Compiled programs and modules: for which system and processor they are, and what they need of Linux, Java and Python.

A run does not show that: this machine may have another processor, a newer glibc, a newer Java and other libraries than
the contest. Only the few fields that matter are read, as described in the ELF specification (System V ABI) and in the
Java Virtual Machine Specification. Any bytes may be passed; a damaged program is a finding, never an exception.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from spielleiter.programs.packages.archive import (
    DAMAGE,
    MAX_NAME,
    Entry,
    PackageArchive,
    read_inner_file,
    read_inner_zip,
)
from spielleiter.programs.packages.faults import Finding, finding_of

NEWEST_GLIBC: Final = (2, 36)
"""The version of Debian 12; a program that needs a newer one may not start in the contest."""
NEWEST_JAVA: Final = 21
"""The newest release of Java that can be expected in the contest."""

_MAX_PROGRAM: Final = 128 * 1024 * 1024
_HEAD: Final = 64
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
_EXECUTABLE, _SHARED = 2, 3
_LOAD, _DYNAMIC, _INTERPRETER = 1, 2, 3
_NEEDED, _STRING_TABLE, _STRING_SIZE = 1, 5, 10
_MAX_HEADERS: Final = 256
_MAX_DYNAMIC: Final = 64 * 1024
"""Bytes of the dynamic section that are read: without a limit, each of its entries could name the same long text."""
_MAX_PROGRAMS: Final = 100
"""Programs, and JAR files, beyond this number are not examined."""
_MAX_SHOWN: Final = 5
_LOADER: Final = "/lib64/ld-linux-x86-64.so.2"
_USUAL_LIBRARIES: Final = re.compile(
    r"(lib(c|m|pthread|dl|rt|util|resolv|gcc_s|stdc\+\+|atomic|gomp|z)|ld-linux-x86-64)\.so\.[0-9]+"
)
_GLIBC: Final = re.compile(rb"(?<=\0)GLIBC_(\d{1,4})\.(\d{1,4})(?=\0)")
_COMPILED_FOR: Final = re.compile(r"(?:-cp3(?=(?:\d+)-cp)|\.cpython-3)(\d+)(?=-.*\.(?:whl|so)$)")
_WHEEL: Final = re.compile(
    r"(?P<name>[^-]+)-[^-]+(?:-\d[^-]*)?-(?P<python>[^-]+)-(?P<abi>[^-]+)-(?P<platform>[^-]+)\.whl"
)
_SUITABLE: Final = re.compile(r"any|(many|musl)?linux.*_x86_64")
_OLD_PYTHON: Final = re.compile(r"py2\d*|cp2\d+|cp3[0-7]|pp2\d+")
_FOREIGN_MODULE: Final = re.compile(r".*\.pyd|.*\.cpython-\d+-(darwin|.*aarch64.*)\.so")
_FIRST_RELEASE: Final = 44
"""The version of a class file is the release of Java plus this number."""
_MANIFEST: Final = "META-INF/MANIFEST.MF"
_MAX_MANIFEST: Final = 256 * 1024


def is_machine_code(head: bytes) -> bool:
    """Whether a file that begins with these bytes is a program for some processor."""
    return head.startswith((_ELF, _PE, *_MACHO)) or _is_fat(head)


def is_class_file(head: bytes) -> bool:
    """Whether a file that begins with these bytes is a compiled class of Java."""
    return head.startswith(_FAT) and not _is_fat(head)


def _is_fat(head: bytes) -> bool:
    return head.startswith(_FAT) and len(head) >= 8 and int.from_bytes(head[4:8], "big") < _OLDEST_CLASS


def program_findings(archive: PackageArchive, entry: Entry) -> Iterator[Finding]:
    """Find why 64-bit Linux does not start this file, which is machine code."""
    name = str(entry.path)
    content = archive.read(entry, _MAX_PROGRAM)
    if foreign := _foreign_program(name, content[:_HEAD]):
        yield foreign
        return
    try:
        linking = _read_linking(content)
    except (struct.error, ValueError, OverflowError):  # OverflowError: an offset beyond every file
        yield finding_of("damaged-program", [name])
        return
    if linking.kind not in {_EXECUTABLE, _SHARED} or (
        linking.kind == _SHARED and not linking.loader and not linking.entry
    ):
        yield finding_of("not-a-program", [name])
    else:
        yield from _linking_findings(name, linking, {each.name for each in archive.files})


def compiled_findings(archive: PackageArchive, main: Entry, words: Collection[str]) -> Iterator[Finding]:
    """Find which other programs and classes of the package need more than the contest may have.

    A program for another system is reported if it is named in `words`, those of the main file, and if there is none for
    64-bit Linux.
    """
    there = {each.name for each in archive.files}
    heads = {each.path: archive.read(each, _HEAD) for each in archive.files.values() if each != main}
    programs = [path for path, head in heads.items() if is_machine_code(head)]
    native = [path for path in programs if _foreign_program(str(path), heads[path]) is None]
    foreign = [str(path) for path in programs if not native and path.name in words]
    if foreign:
        yield finding_of("foreign-program", foreign)
    for path in native[:_MAX_PROGRAMS]:
        with suppress(struct.error, ValueError, OverflowError):  # if it is started, the run shows that it is damaged
            linking = _read_linking(archive.read(archive.files[path], _MAX_PROGRAM))
            yield from _linking_findings(str(path), linking, there)
    jars = [each for each in archive.files.values() if each.path.suffix.lower() == ".jar"]
    # what is in META-INF is for the newer releases that the names of its folders say
    classes = {path: head for path, head in heads.items() if "META-INF" not in path.parts}
    classes |= {each.path: _main_class(archive, each) for each in jars[:_MAX_PROGRAMS]}
    newer: dict[int, list[str]] = {}
    for path, head in classes.items():
        release = int.from_bytes(head[6:8], "big") - _FIRST_RELEASE
        if is_class_file(head) and release > NEWEST_JAVA:
            newer.setdefault(release, []).append(str(path))
    for release, names in newer.items():
        yield finding_of("newer-java", names, version=release, newest=NEWEST_JAVA)


def _foreign_program(name: str, head: bytes) -> Finding | None:
    """The finding about a program that is not for 64-bit Linux on x86-64; None about others and damaged ones."""
    if head.startswith(_PE):
        return finding_of("windows-program", [name])
    if not head.startswith(_ELF):
        return finding_of("macos-program", [name])
    if len(head) < 20:
        return None
    (machine,) = struct.unpack_from("<H" if head[5] == _LITTLE_ENDIAN else ">H", head, 18)
    if machine == _I386 or (machine == _X86_64 and head[4] != _CLASS_64):
        return finding_of("elf-32-bit", [name])
    if machine != _X86_64:
        return finding_of("other-processor", [name], processor=_PROCESSORS.get(machine, f"type {machine}"))
    return None


@dataclass(slots=True)
class _Linking:
    """What a program needs at its start."""

    kind: int
    entry: int
    """The address at which it starts; 0 in a library."""
    loader: str = ""
    libraries: list[str] = field(default_factory=list)
    glibc: tuple[int, int] = (0, 0)


def _linking_findings(name: str, linking: _Linking, there: Collection[str]) -> Iterator[Finding]:
    if linking.loader not in {"", _LOADER}:
        yield finding_of("unusual-loader", [name], loader=linking.loader)
        return
    missing = [each for each in linking.libraries if not _USUAL_LIBRARIES.fullmatch(each) and each not in there]
    if missing:
        yield finding_of("missing-library", [name], libraries=", ".join(missing[:_MAX_SHOWN]))
    if linking.glibc > NEWEST_GLIBC:
        version, newest = (".".join(map(str, each)) for each in (linking.glibc, NEWEST_GLIBC))
        yield finding_of("newer-glibc", [name], version=version, newest=newest)


def _read_linking(content: bytes) -> _Linking:
    """Read what a 64-bit ELF file needs of libraries and of glibc. Raises struct.error, ValueError, OverflowError."""
    kind, entry, headers = struct.unpack_from("<H6xQQ", content, 16)
    header_size, count = struct.unpack_from("<HH", content, 54)
    linking = _Linking(kind, entry)
    segments = []
    for number in range(min(count, _MAX_HEADERS)):
        segment, _, offset, address, _, size = struct.unpack_from("<IIQQQQ", content, headers + number * header_size)
        segments.append((segment, offset, address, size))
        if offset + size > len(content):
            raise ValueError("a segment is missing")
        if segment == _INTERPRETER:
            linking.loader = content[offset : offset + size].rstrip(b"\0").decode()
    dynamic = next(((offset, size) for segment, offset, _, size in segments if segment == _DYNAMIC), (0, 0))
    section = content[dynamic[0] : dynamic[0] + min(dynamic[1], _MAX_DYNAMIC)]
    tags = list(struct.iter_unpack("<QQ", section[: len(section) // 16 * 16]))
    tags = tags[: next((number for number, (tag, _) in enumerate(tags) if tag == 0), len(tags))]
    by_tag = dict(tags)
    if _STRING_TABLE not in by_tag:
        return linking
    place = by_tag[_STRING_TABLE]  # the address that it is loaded to
    load = next((each for each in segments if each[0] == _LOAD and each[2] <= place < each[2] + each[3]), None)
    if load is None:
        raise ValueError("an address without content")
    start = place - load[2] + load[1]
    strings = content[start : start + by_tag.get(_STRING_SIZE, 0)]
    for tag, value in tags:
        if tag == _NEEDED:
            linking.libraries.append(strings[value : strings.index(b"\0", value, value + MAX_NAME)].decode())
    versions = ((int(found[1]), int(found[2])) for found in _GLIBC.finditer(strings))
    linking.glibc = max(versions, default=(0, 0))
    return linking


def _main_class(archive: PackageArchive, entry: Entry) -> bytes:
    """The first bytes of the class that ``java -jar`` starts; empty if it is not in the JAR file."""
    try:
        jar = read_inner_zip(archive, entry)
        if jar is None:
            return b""  # too large to be looked at
        with jar:
            names = set(jar.namelist())
            manifest = next((each for each in names if each.upper() == _MANIFEST), None)
            if manifest is None:
                return b""
            main_class = read_manifest(read_inner_file(jar, manifest, _MAX_MANIFEST)).get("main-class", "")
            class_file = f"{main_class.replace('.', '/')}.class"
            return read_inner_file(jar, class_file, 8) if class_file in names else b""
    except (*DAMAGE, OSError):  # the run shows that it is damaged
        return b""


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


def built_for(archive: PackageArchive) -> str:
    """Return the version of Python that the compiled modules in a package are for; empty if it is not exactly one."""
    versions = {found[1] for path in archive.files if (found := _COMPILED_FOR.search(path.name))}
    return f"3.{versions.pop()}" if len(versions) == 1 else ""


def module_findings(archive: PackageArchive) -> Iterator[Finding]:
    """Find Python modules that were made for another system or Python, by the names of files."""
    paths = sorted(archive.files)
    wheels = {str(each): found for each in paths if (found := _WHEEL.fullmatch(each.name))}
    foreign = [
        name
        for name, wheel in wheels.items()
        if not any(_SUITABLE.fullmatch(each) for each in wheel["platform"].split("."))
    ]
    old = [
        name
        for name, wheel in wheels.items()
        if name not in foreign
        and wheel["abi"] != "abi3"
        and all(_OLD_PYTHON.fullmatch(each) for each in wheel["python"].split("."))
    ]
    by_code = {
        "virtual-environment": [str(each) for each in paths if each.name == "pyvenv.cfg"],
        "wheel-platform": foreign,
        "wheel-python": old,
        "extension-platform": [str(each) for each in paths if _FOREIGN_MODULE.fullmatch(each.name)],
    }
    yield from (finding_of(code, names) for code, names in by_code.items() if names)
