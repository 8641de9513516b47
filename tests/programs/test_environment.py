"""The variables and the home folder of a program, on every platform."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from spielleiter.programs import environment
from spielleiter.programs.environment import added_variables, inherited_variables, open_home, own_variables
from spielleiter.programs.windows import WindowsPlatform

ON_WINDOWS = {
    "COMSPEC": r"C:\Windows\system32\cmd.exe",
    "NUMBER_OF_PROCESSORS": "8",
    "PATH": r"C:\Windows\system32;C:\Windows",
    "PATHEXT": ".COM;.EXE;.BAT;.CMD;.PY",
    "PROGRAMFILES(X86)": r"C:\Program Files (x86)",
    "SYSTEMDRIVE": "C:",
    "SYSTEMROOT": r"C:\Windows",
    "TEMP": r"C:\Users\Anna\AppData\Local\Temp",
    "TMP": r"C:\Users\Anna\AppData\Local\Temp",
    "VIRTUAL_ENV": r"C:\Users\Anna\bots\venv",
    "WINDIR": r"C:\Windows",
}


def set_variables(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]) -> None:
    for name in list(os.environ):
        monkeypatch.delenv(name)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)


async def test_a_program_on_windows_gets_what_a_process_needs_there(monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = {"GITHUB_TOKEN": "x", "USERPROFILE": r"C:\Users\Anna", "APPDATA": r"C:\Users\Anna\AppData\Roaming"}
    set_variables(monkeypatch, {**ON_WINDOWS, **secrets})
    monkeypatch.setattr(environment, "PLATFORM", WindowsPlatform())
    assert inherited_variables() == ON_WINDOWS
    async with open_home() as home:
        assert set(home) == {"USERPROFILE", "APPDATA", "LOCALAPPDATA"}
        [folder] = map(Path, set(home.values()))
        assert list(folder.iterdir()) == []
    assert not folder.exists()


def test_a_program_on_macos_gets_the_same_as_on_linux_but_for_the_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    if sys.platform == "win32":
        pytest.skip("the module needs POSIX")
    else:
        from spielleiter.programs.macos import MacPlatform

        expected = {"PATH": "/bin", "LC_ALL": "C", "DYLD_LIBRARY_PATH": "/lib"}
        set_variables(monkeypatch, {**expected, "LC_X": "x", "GH_TOKEN": "x"})
        monkeypatch.setattr(environment, "PLATFORM", MacPlatform())
        assert inherited_variables() == expected


def test_a_process_of_our_own_gets_the_settings_of_this_python_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    set_variables(monkeypatch, {"PATH": "/bin", "PYTHONPATH": "/modules", "SPIELLEITER_PASSWORD": "x"})
    assert inherited_variables() == {"PATH": "/bin"}
    assert own_variables() == {"PATH": "/bin", "PYTHONPATH": "/modules"}


def test_a_variable_that_is_set_takes_precedence_over_one_that_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    set_variables(monkeypatch, {"A": "1", "B": "2", "C": "3"})
    assert added_variables(("A", "B", "NO_SUCH"), {"B": "4"}) == {"A": "1", "B": "4"}


async def test_each_home_folder_is_new_and_private() -> None:
    async with open_home() as first, open_home() as second:
        folders = [Path(next(iter(home.values()))) for home in (first, second)]
        assert folders[0] != folders[1]
        if sys.platform != "win32":
            assert [folder.stat().st_mode & 0o777 for folder in folders] == [0o700, 0o700]
        (folders[0] / "cache").mkdir()
        (folders[0] / "cache" / "file").write_bytes(b"x")
    assert not [folder for folder in folders if folder.exists()]
