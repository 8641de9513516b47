"""The main file of a package: which one is chosen, and the first line, the encoding and the line ends of scripts."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spielleiter.programs.packages.archive import open_archive
from spielleiter.programs.packages.faults import Finding
from spielleiter.programs.packages.main_file import MainFile, choose_main, read_main
from tests.programs.packages.binaries import elf, jar
from tests.programs.packages.making import zipped

SCRIPT = "#!/bin/sh\n"


def chosen(tmp_path: Path, files: dict[str, bytes | str], wanted: str | None = None) -> str:
    """The path of the main file, or the code of the finding."""
    path = tmp_path / "player.zip"
    path.write_bytes(zipped(files))
    with open_archive(path) as archive:
        result = choose_main(archive, wanted)
    return result.code if isinstance(result, Finding) else str(result.path)


@pytest.mark.parametrize(
    ("files", "main"),
    [
        ({"start.sh": "", "run.sh": SCRIPT, "main.py": SCRIPT}, "start.sh"),
        ({"a.py": "x", "b.py": SCRIPT, "c": elf(), "d.jar": jar()}, "b.py"),
        ({"a.sh": "x", "b": elf()}, "a.sh"),
        ({"main.py": SCRIPT, "tools.py": SCRIPT}, "main.py"),
        ({"RUN": f"\n {SCRIPT}", "tools.py": SCRIPT}, "RUN"),
        ({"bot": f"\ufeff{SCRIPT}"}, "bot"),
        ({"bot.jar": jar(), "README": "x"}, "bot.jar"),
        ({"main.bot": SCRIPT, "main.py": SCRIPT}, "several-main-files"),
        ({".hidden": SCRIPT, "a.txt": "x"}, "no-main-file"),
        ({"a/x.sh": SCRIPT, "b/y": "y"}, "a/x.sh"),
        ({"a/x.sh": SCRIPT, "b/y.sh": SCRIPT}, "several-main-files"),
        ({"a/start.sh": "", "b/y.sh": SCRIPT, "README.md": "x"}, "a/start.sh"),
        ({"a/start.sh": "", "b/start.sh": ""}, "several-main-files"),
        ({"a/b/start.sh": SCRIPT}, "folder-inside"),
        ({"a/bot.jar": jar(), "b/README.md": "x"}, "no-main-file"),
        ({"gradlew": SCRIPT, "gradlew.bat": "x", "bot.jar": jar()}, "bot.jar"),
        ({"bot/Cargo.toml": "x", "bot/src/main.rs": "x"}, "source-only"),
        ({"main.c": "x", "src/x.h": "x"}, "source-only"),
    ],
)
def test_the_main_file_is_found(files: dict[str, bytes | str], main: str, tmp_path: Path) -> None:
    assert chosen(tmp_path, files) == main


@pytest.mark.parametrize(
    ("wanted", "main"),
    [
        ("b.py", "b.py"),
        ("./lib/c.py", "lib/c.py"),
        ("lib\\c.py", "lib/c.py"),
        ("lib", "main-is-folder"),
        ("d.py", "main-missing"),
        ("", "main-is-folder"),
    ],
)
def test_the_main_file_can_be_named(wanted: str, main: str, tmp_path: Path) -> None:
    assert chosen(tmp_path, {"a.py": SCRIPT, "b.py": "x", "lib/c.py": "x"}, wanted) == main


def read(content: bytes | str, folder: Path, name: str = "start") -> MainFile:
    """The main file with this content."""
    path = folder / "player.zip"
    path.write_bytes(zipped({name: content}))
    with open_archive(path) as archive:
        return read_main(archive, archive.entries[0])


def codes(main: MainFile) -> list[str]:
    return [each.code for each in main.findings]


@pytest.mark.parametrize(
    ("first_line", "interpreter", "found"),
    [
        ("#!/bin/sh", "sh", []),
        ("#! /bin/bash -eu", "bash", []),
        ("#!/usr/bin/env python3", "python3", []),
        ("#!/usr/bin/env -S python3 -u -B", "python3", []),
        ("#!/usr/bin/env -Spython3 -u", "python3", []),
        ("#!/usr/bin/env -S PYTHONPATH=lib python3 -u", "python3", []),
        ("#!/usr/bin/env /home/a/python3", "python3", ["missing-interpreter"]),
        ("#!/usr/bin/env FOO=1 python3", "FOO=1", ["first-line-options"]),
        ("#!/usr/bin/env -S", "", ["incomplete-first-line"]),
        ("#!/usr/bin/env ruby", "ruby", ["uncertain-interpreter"]),
        ("#!/usr/local/bin/python3", "python3", ["uncertain-interpreter"]),
        ("#!venv/bin/python", "python", ["missing-interpreter"]),
        ("#!C:/Python/python.exe", "python", ["missing-interpreter"]),
        ("#!/bin/" + "x" * 300, "x" * 300, ["missing-interpreter"]),
    ],
)
def test_the_first_line_names_the_interpreter(
    first_line: str, interpreter: str, found: list[str], tmp_path: Path
) -> None:
    main = read(f"{first_line}\nx\n", tmp_path)
    assert (main.interpreter, codes(main)) == (interpreter, found)


@pytest.mark.skipif(os.name != "posix", reason="Windows does not know which files may be executed")
def test_an_unusual_interpreter_that_is_on_this_machine_is_uncertain(tmp_path: Path) -> None:
    program = tmp_path / "interpreter"
    assert codes(read(f"#!{program}\n", tmp_path)) == ["missing-interpreter"]
    program.touch(0o755)
    assert codes(read(f"#!{program}\n", tmp_path)) == ["uncertain-interpreter"]


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("#!/bin/sh\nx\r\n", ["crlf"]),
        ("#!/usr/bin/env python3\nx\r\n", []),
        ("#!/usr/bin/env python3\r\nx\n", ["crlf"]),
        (b"#!/bin/sh\n\xff", []),
        (b"#!/bin/sh\nexit\n\x1f\x8b\x08\x00\r\n\xff", []),  # data after a script
        (b"#!/usr/bin/env python3\nPK\x03\x04\x00\r\n", []),
        (b"#!/bin/sh\0\n", ["not-a-program"]),
        (b"\x00\x00\x01", ["not-a-program"]),
        ("x\r\n".encode("utf-16"), ["utf-16", "no-first-line", "crlf"]),
    ],
)
def test_line_ends_matter_in_a_shell_and_in_the_first_line(
    content: bytes | str, found: list[str], tmp_path: Path
) -> None:
    assert codes(read(content, tmp_path)) == found


@pytest.mark.parametrize(
    ("name", "interpreter", "part"), [("a.py", "python3", "#!/usr/bin/env python3"), ("a", "", "#!/bin/sh")]
)
def test_the_missing_first_line_is_suggested(name: str, interpreter: str, part: str, tmp_path: Path) -> None:
    main = read("x\n", tmp_path, name)
    assert main.interpreter == interpreter
    assert main.findings[0].text.endswith(part)


def test_the_text_is_that_of_a_sound_script(tmp_path: Path) -> None:
    main = read("\ufeff#!/bin/sh\r\nä\r\n", tmp_path)
    assert main.text == "#!/bin/sh\nä\n"
    assert codes(main) == ["byte-order-mark", "crlf"]


@pytest.mark.parametrize(
    ("line", "is_found"),
    [
        ('./bot.jar "$@"', True),
        ('  java bot.jar "$@"', True),
        ('chmod +x bot.jar && ./bot.jar "$@"', True),
        ('java -jar bot.jar "$@"', False),
        ('java -cp bot.jar Main "$@"', False),
        ("# ./bot.jar", False),
        ("chmod +x bot.jar", False),
    ],
)
def test_a_jar_file_is_started_by_java(line: str, is_found: bool, tmp_path: Path) -> None:
    path = tmp_path / "player.zip"
    path.write_bytes(zipped({"start.sh": f"#!/bin/sh\n{line}\n", "lib/bot.jar": jar()}))
    with open_archive(path) as archive:
        assert codes(read_main(archive, archive.entries[0])) == (["jar-without-java"] if is_found else [])


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ("a\n./bot &\n\n# end\n", True),
        ("./bot &\nwait\n", False),
        ("./bot & ./other\n", False),
    ],
)
def test_a_start_in_the_background_is_found(text: str, is_found: bool, tmp_path: Path) -> None:
    assert codes(read(f"#!/bin/sh\n{text}", tmp_path)) == (["background-start"] if is_found else [])


@pytest.mark.slow
@given(st.binary(max_size=40), st.sampled_from(["start.sh", "start.py", "start"]))
def test_any_bytes_can_be_read(content: bytes, name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        assert "\r" not in read(content, Path(folder), name).text
