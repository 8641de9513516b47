"""From the main file to the programs that it starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from spielleiter.match.packages import started_programs
from spielleiter.match.packages.inspection import inspect_package
from tests.match.packages.binaries import MACOS_PROGRAM, WINDOWS_PROGRAM, jar
from tests.match.packages.making import shell, zipped

PYC = b"\xa7\r\r\n" + bytes(12) + b"\xe3\xff"
ZIPAPP = zipped({"__main__.py": "print('\u00e4\\r\\n')"})
DATA = b"\x1f\x8b\x08\x00\x00\r\n\xff"


def findings(folder: Path, text: str, files: dict[str, bytes | str]) -> list[str]:
    path = folder / "player.zip"
    path.write_bytes(shell(text, files))
    return [f"{each.code} {each.file}" for each in inspect_package(path).findings]


@pytest.mark.parametrize(
    ("text", "files", "found"),
    [
        ('. ./a.sh\nrun "$@"', {"a.sh": "cd missing"}, ["missing-folder a.sh"]),
        ('sh a.sh "$@"', {"a.sh": 'exec sh b.sh "$@"', "b.sh": "exec python3 bot.py"}, ["parameters-ignored b.sh"]),
        ('chmod +x a.sh\n./a.sh "$@"', {"a.sh": 'python3 bot.py "$@"'}, []),
        ('chmod +x a.py\n./a.py "$@"', {"a.py": "import sys"}, ["no-first-line a.py"]),
        ('sh a.sh "$@"', {"a.sh": 'sh a.sh "$@"\nsh start.sh "$@"'}, []),
        ('cd lib\njava -jar bot.jar "$@"', {"lib/bot.jar": jar(None)}, ["jar-without-manifest lib/bot.jar"]),
        ('case $(uname) in Darwin) ./mac "$@";; *) python3 bot.py "$@";; esac', {"mac": MACOS_PROGRAM}, []),
        ('wine bot.exe "$@"', {"bot.exe": WINDOWS_PROGRAM}, []),
        ('chmod +x a\n./a "$@"', {"a": b"\x00\x00\x01"}, ["not-a-program a"]),
        ('export PYTHONPATH=lib\npython3 a.py "$@"', {"a.py": "import x", "lib/x.py": ""}, []),
        ('python3 a.py "$@"', {"a.py": "import x", "lib/x.py": ""}, ["missing-module a.py"]),
        ('python3 a.pyc "$@"', {"a.pyc": PYC}, []),
        ('python3 a.pyz "$@"', {"a.pyz": ZIPAPP}, []),
        ('python3 a.pyz "$@"', {"a.pyz": b"#!/usr/bin/env python3\n" + ZIPAPP}, []),
        ('chmod +x a.pyz\n./a.pyz "$@"', {"a.pyz": b"#!/usr/bin/env python3\n" + ZIPAPP}, []),
        ('chmod +x a.pyz\n./a.pyz "$@"', {"a.pyz": b"#!/nowhere/python3\n" + ZIPAPP}, ["missing-interpreter a.pyz"]),
        ('chmod +x a\n./a "$@"', {"a": b'#!/bin/sh\nsed 1,3d "$0" | tar xz\nexit\n' + DATA}, []),
        ('sh a "$@"', {"a": b"#!/bin/sh\ncd missing\n" + DATA}, ["missing-folder a"]),
        ('chmod +x a\n./a "$@"', {"a": b"#!/bin/sh\0\n"}, ["not-a-program a"]),
        ('pip install x\npython3 a.py "$@"', {"a.py": "import x"}, ["pip-install start.sh"]),
    ],
)
def test_what_is_started_is_examined(
    text: str, files: dict[str, bytes | str], found: list[str], tmp_path: Path
) -> None:
    assert findings(tmp_path, text, files) == found


def test_the_number_of_programs_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files: dict[str, bytes | str] = {f"{number}.sh": f'sh {number + 1}.sh "$@"' for number in range(9)}
    assert findings(tmp_path, 'sh 0.sh "$@"', files) == ["missing-file 8.sh"]
    monkeypatch.setattr(started_programs, "MAX_STARTS", 5)
    assert findings(tmp_path, 'sh 0.sh "$@"', files) == []
