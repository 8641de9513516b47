"""The folder for data of a user is where the system wants it, or nowhere."""

from __future__ import annotations

import sys
from pathlib import Path

from spielleiter.common.data_folder import data_folder


def test_the_folder_follows_the_variables_of_the_user(tmp_path: Path) -> None:
    home, other = str(tmp_path / "Jörg Müller"), str(tmp_path / "other")
    if sys.platform == "win32":
        assert data_folder({"LOCALAPPDATA": home}) == Path(home, "spielleiter")
    elif sys.platform == "darwin":
        assert data_folder({"HOME": home}) == Path(home, "Library", "Application Support", "spielleiter")
    else:
        assert data_folder({"HOME": home}) == Path(home, ".local", "share", "spielleiter")
        assert data_folder({"HOME": home, "XDG_DATA_HOME": other}) == Path(other, "spielleiter")
        assert data_folder({"HOME": home, "XDG_DATA_HOME": "not/absolute"}) == data_folder({"HOME": home})


def test_a_user_may_have_none() -> None:
    assert data_folder({}) is None
    assert data_folder(dict.fromkeys(("HOME", "LOCALAPPDATA", "XDG_DATA_HOME"), "")) is None
    assert data_folder({"HOME": "relative", "LOCALAPPDATA": "relative"}) is None
