"""The version is the one that the system of packages knows."""

from __future__ import annotations

import sys
from importlib.metadata import version

import pytest

from spielleiter.common.own_version import own_version


def test_the_version_is_that_of_the_installed_package(monkeypatch: pytest.MonkeyPatch) -> None:
    assert own_version() == version("spielleiter")
    found = [folder for folder in sys.path if "site-packages" in folder]
    monkeypatch.setattr("sys.path", ["", "/no/such/folder", *found])
    assert own_version() == version("spielleiter")
