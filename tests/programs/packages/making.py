"""Builders of contest packages for tests: ZIP files with scripts, programs and unusual entries; inspecting them."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path

from spielleiter.programs.packages.package import Inspection, inspect_package

SHELL_BOT = '#!/bin/sh\nexec python3 bot.py "$@"\n'
PYTHON_BOT = "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('-p', default=13050)\n"
PYTHON_MAIN = f"#!/usr/bin/env python3\n{PYTHON_BOT}"
JAVA_BOT = '#!/bin/sh\nexec java -jar bot.jar "$@"\n'
BOT = {"start.sh": SHELL_BOT, "bot.py": PYTHON_BOT}


def inspected(folder: Path, content: bytes, main: str | None = None) -> Inspection:
    """Write a package into the folder, and inspect it."""
    path = folder / "player.zip"
    path.write_bytes(content)
    return inspect_package(path, main)


def codes(folder: Path, content: bytes) -> list[str]:
    """The codes of what is found in a package."""
    return [each.code for each in inspected(folder, content).findings]


def zipped(files: Mapping[str, bytes | str], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A ZIP file that holds these files; a name that ends in ``/`` is a folder."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def many_entries(count: int) -> bytes:
    """A ZIP file with so many empty files, made from the bytes of one; `zipfile` would take a second for 20,000."""
    name = b"file-00000"
    one = zipped({name.decode(): ""}, zipfile.ZIP_STORED)
    start_of_list, end_of_list = one.find(b"PK\x01\x02"), one.find(b"PK\x05\x06")
    file, entry = one[:start_of_list], one[start_of_list:end_of_list]
    files, entries = [], []
    for number in range(count):
        own_name = b"file-%05d" % number
        files.append(file.replace(name, own_name))
        place = struct.pack("<I", number * len(file))
        entries.append(entry[:42] + place + entry[46:].replace(name, own_name))
    content, listed = b"".join(files), b"".join(entries)
    end = struct.pack("<4s4xHHIIH", b"PK\x05\x06", count, count, len(listed), len(content), 0)
    return content + listed + end


def with_mode(files: Mapping[str, bytes | str], name: str, kind: int) -> bytes:
    """A ZIP file with these files, one of which is of another kind on Linux, a constant of `stat`."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for each, content in files.items():
            info = zipfile.ZipInfo(each)
            info.compress_type = zipfile.ZIP_DEFLATED
            if each == name:
                info.create_system, info.external_attr = 3, (kind | 0o777) << 16
            archive.writestr(info, content)
    return buffer.getvalue()


def with_entry(name: str, content: bytes | str = "x") -> bytes:
    """A sound package with one more file."""
    return zipped({**BOT, name: content})


def renamed(old: str, new: bytes, *, is_utf8: bool = False) -> bytes:
    """A sound package with a file `old` (ASCII), whose name is replaced in the bytes by `new`, of the same length."""
    content = with_entry(old)
    raw = old.encode()
    assert len(raw) == len(new)
    assert content.count(raw) == 2
    content = content.replace(raw, new)
    return with_flags(content, new, 0x800) if is_utf8 else content


def with_flags(content: bytes, name: bytes, flags: int) -> bytes:
    """The ZIP file with these flags set for the entry `name`, in both of its headers."""
    changed = bytearray(content)
    place = 0
    while (place := content.find(name, place)) >= 0:
        for start, field in ((place - 30, 6), (place - 46, 8)):
            if content[start : start + 4] in {b"PK\x03\x04", b"PK\x01\x02"}:
                (old,) = struct.unpack_from("<H", content, start + field)
                struct.pack_into("<H", changed, start + field, old | flags)
        place += 1
    return bytes(changed)


def shell(body: str, files: Mapping[str, bytes | str] | None = None, first_line: str = "#!/bin/sh") -> bytes:
    """A package with this script as start.sh, and a bot in Python."""
    return zipped({"bot.py": PYTHON_BOT, **(files or {}), "start.sh": f"{first_line}\n{body}\n"})


def python(source: str, files: Mapping[str, bytes | str] | None = None) -> bytes:
    """A package whose main file is this Python program."""
    return zipped({**(files or {}), "main.py": f"#!/usr/bin/env python3\n{source}\n"})


def script(content: bytes | str, name: str = "start.sh") -> bytes:
    """A package with this script as its main file, and a bot in Python."""
    return zipped({"bot.py": PYTHON_BOT, name: content})


def program(content: bytes, files: Mapping[str, bytes | str] | None = None) -> bytes:
    """A package whose main file is this program."""
    return zipped({"player": content, **(files or {})})


def java(content: bytes, files: Mapping[str, bytes | str] | None = None) -> bytes:
    """A package whose script starts this JAR file."""
    return zipped({"start.sh": JAVA_BOT, "bot.jar": content, **(files or {})})
