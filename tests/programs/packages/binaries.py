"""Minimal programs as bytes: ELF, PE and Mach-O headers, classes and JAR files; no compiler is needed to make them."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Mapping, Sequence

LOADER = "/lib64/ld-linux-x86-64.so.2"
WINDOWS_PROGRAM = b"MZ" + bytes(58) + struct.pack("<I", 64) + b"PE\0\0" + struct.pack("<H", 0x8664) + bytes(200)
MACOS_PROGRAM = struct.pack("<IIIIIIII", 0xFEEDFACF, 0x01000007, 3, 2, 0, 0, 0, 0)
MACOS_UNIVERSAL = struct.pack(">II", 0xCAFEBABE, 2) + bytes(200)

_BASE = 0x400000


def elf(
    *,
    machine: int = 62,
    bits: int = 64,
    kind: int = 2,
    entry: int = _BASE,
    loader: str = "",
    libraries: Sequence[str] = (),
    versions: Sequence[str] = (),
) -> bytes:
    """An ELF file with these headers; with `libraries`, a dynamic section that names them and the `versions`."""
    identity = b"\x7fELF" + bytes([2 if bits == 64 else 1, 1, 1]) + bytes(9)
    if bits == 32:
        return identity + struct.pack("<HHIIIIIHHHHHH", kind, machine, 1, entry, 0, 0, 0, 52, 32, 0, 0, 0, 0)
    strings = bytearray(b"\0")

    def add(text: str) -> int:
        place = len(strings)
        strings.extend(text.encode() + b"\0")
        return place

    tags = [(1, add(each)) for each in libraries]
    needed = b""
    for number, version in enumerate(versions):
        step = 16 if number + 1 < len(versions) else 0
        needed += struct.pack("<IHHII", 0, 0, 2, add(version), step)
    if versions:
        needed = struct.pack("<HHIII", 1, len(versions), add("libc.so.6"), 16, 0) + needed
    count = 1 + bool(loader) + bool(libraries)
    body = 64 + 56 * count
    loader_bytes = loader.encode() + b"\0" if loader else b""
    strings_at = body + len(loader_bytes)
    needed_at = strings_at + len(strings)
    dynamic_at = needed_at + len(needed)
    tags += [(5, _BASE + strings_at), (10, len(strings))]
    if versions:
        tags.append((0x6FFFFFFE, _BASE + needed_at))
    dynamic = b"".join(struct.pack("<QQ", *each) for each in [*tags, (0, 0)]) if libraries else b""
    size = dynamic_at + len(dynamic)

    def header(segment: int, offset: int, length: int) -> bytes:
        return struct.pack("<IIQQQQQQ", segment, 5, offset, _BASE + offset, 0, length, length, 1)

    headers = header(1, 0, size)
    if loader:
        headers += header(3, body, len(loader_bytes))
    if libraries:
        headers += header(2, dynamic_at, len(dynamic))
    first = struct.pack("<HHIQQQIHHHHHH", kind, machine, 1, entry, 64, 0, 0, 64, 56, count, 0, 0, 0)
    return identity + first + headers + loader_bytes + bytes(strings) + needed + dynamic


def java_class(release: int = 17) -> bytes:
    """The beginning of a class file for this release of Java."""
    return struct.pack(">IHH", 0xCAFEBABE, 0, release + 44) + bytes(32)


def jar(manifest: str | None = "Main-Class: bot.Main\n", files: Mapping[str, bytes] | None = None) -> bytes:
    """A JAR file with this manifest and these files; by default, the class ``bot.Main``."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        if manifest is not None:
            archive.writestr("META-INF/MANIFEST.MF", f"Manifest-Version: 1.0\n{manifest}\n")
        for name, content in ({"bot/Main.class": java_class()} if files is None else files).items():
            archive.writestr(name, content)
    return buffer.getvalue()
