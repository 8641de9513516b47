"""The encoding and the first line of scripts."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spielleiter.match.packages.script_text import read_script


def read(content: bytes | str, name: str = "start", interpreter: str = "") -> tuple[str, list[str]]:
    """The interpreter and the codes."""
    content = content.encode() if isinstance(content, str) else content
    script = read_script(PurePosixPath(name), content, interpreter)
    return script.interpreter, [each.code for each in script.findings]


@pytest.mark.parametrize(
    ("first_line", "interpreter", "codes"),
    [
        ("#!/bin/sh", "sh", []),
        ("#! /bin/bash -eu", "bash", []),
        ("#!/usr/bin/python3.12", "python3.12", []),
        ("#!/usr/bin/env python3", "python3", []),
        ("#!/usr/bin/env -S python3 -u -B", "python3", []),
        ("#!/usr/bin/env -Spython3 -u", "python3", []),
        ("#!/usr/bin/env -S PYTHONPATH=lib python3 -u", "python3", []),
        ("#!/usr/bin/env /bin/sh", "sh", []),
        ("#!/usr/bin/env /home/a/python3", "python3", ["missing-interpreter"]),
        ("#!/usr/bin/env FOO=1 python3", "FOO=1", ["first-line-options"]),
        ("#!/usr/bin/env -S", "", ["incomplete-first-line"]),
        ("#!/usr/bin/env ruby", "ruby", ["uncertain-interpreter"]),
        ("#!/usr/bin/ruby", "ruby", ["uncertain-interpreter"]),
        ("#!/usr/local/bin/python3", "python3", ["uncertain-interpreter"]),
        ("#!python3", "python3", ["missing-interpreter"]),
        ("#!venv/bin/python", "python", ["missing-interpreter"]),
        ("#!C:/Python/python.exe", "python", ["missing-interpreter"]),
        ("#!/bin/" + "x" * 300, "x" * 300, ["missing-interpreter"]),
    ],
)
def test_the_first_line_names_the_interpreter(first_line: str, interpreter: str, codes: list[str]) -> None:
    assert read(f"{first_line}\nx\n") == (interpreter, codes)


@pytest.mark.skipif(os.name != "posix", reason="Windows does not know which files may be executed")
def test_an_unusual_interpreter_that_is_on_this_machine_is_uncertain(tmp_path: Path) -> None:
    program = tmp_path / "interpreter"
    assert read(f"#!{program}\n")[1] == ["missing-interpreter"]
    program.touch(0o755)
    assert read(f"#!{program}\n")[1] == ["uncertain-interpreter"]


@pytest.mark.parametrize(
    ("content", "codes"),
    [
        (b"\xef\xbb\xbfx\n", []),
        ("x\r\n".encode("utf-16"), ["utf-16"]),
        (b"\xff\n", ["python-not-utf-8"]),
        (b"# coding: latin-1\n\xff\n", []),
        (b"#\n# vim: set fileencoding=latin-1 :\n\xff\n", []),
        (b"#\n#\n# coding: latin-1\n\xff\n", ["python-not-utf-8"]),
        (b"x\r\n", []),
    ],
)
def test_a_program_that_python_starts_needs_no_first_line(content: bytes, codes: list[str]) -> None:
    assert read(content, "bot.py", "python3") == ("python3", codes)


def test_line_ends_of_windows_matter_in_a_shell() -> None:
    assert read("x\r\n", "lib.sh", "sh") == ("sh", ["crlf"])
    assert read("x\n", "lib.sh", "sh") == ("sh", [])


@pytest.mark.parametrize(
    ("name", "interpreter", "part"),
    [("a.sh", "sh", "#!/bin/sh"), ("a.py", "python3", "#!/usr/bin/env python3"), ("a", "", "#!/bin/sh")],
)
def test_the_missing_first_line_is_suggested(name: str, interpreter: str, part: str) -> None:
    script = read_script(PurePosixPath(name), b"x\n")
    assert script.interpreter == interpreter
    assert script.findings[0].text.endswith(part)


def test_the_text_is_that_of_a_sound_script() -> None:
    script = read_script(PurePosixPath("a"), b"\xef\xbb\xbf#!/bin/sh\r\n\xe4\r\n")
    assert script.text == "#!/bin/sh\nä\n"
    assert [each.code for each in script.findings] == ["byte-order-mark", "crlf", "not-utf-8"]


@pytest.mark.slow
@given(st.binary(max_size=40), st.sampled_from(["", "sh", "python3"]))
def test_any_bytes_can_be_read(content: bytes, interpreter: str) -> None:
    script = read_script(PurePosixPath("start.sh"), content, interpreter)
    assert "\r" not in script.text
