"""Packages in the layouts of the official templates and builders are accepted as the contest accepts them."""

from __future__ import annotations

from pathlib import Path

import pytest

from spielleiter.programs.packages.package import Inspection, inspect_package
from tests.programs.packages.making import zipped
from tests.programs.packages.official_packages import (
    FOLDER,
    java_player,
    java_project,
    java_sources,
    python_package,
    rust_player,
    rust_sources,
)

PYTHON = python_package("from socha.starter import Starter\nStarter()\n", {"socha/starter.py": "def Starter(): pass\n"})


def inspected(folder: Path, content: bytes, main: str | None = None) -> Inspection:
    path = folder / "player.zip"
    path.write_bytes(content)
    return inspect_package(path, main)


@pytest.mark.parametrize(
    ("content", "main", "codes"),
    [
        (PYTHON, f"{FOLDER}/start.sh", ["main-in-folder"]),
        (java_player(), "blokus_2027_client.jar", ["jar-main-file"]),
        (java_project(), "blokus_2027_client.jar", ["jar-main-file"]),
        (java_project(folder="bot/"), "bot/blokus_2027_client.jar", ["jar-main-file", "main-in-folder"]),
        (rust_player(), "start.sh", []),
    ],
    ids=["Python", "Java", "Java project", "Java project in a folder", "Rust"],
)
def test_what_the_official_builders_make_can_be_started(
    content: bytes, main: str, codes: list[str], tmp_path: Path
) -> None:
    inspection = inspected(tmp_path, content)
    assert inspection.is_startable
    assert str(inspection.main) == main
    assert [each.code for each in inspection.findings] == codes


@pytest.mark.parametrize("content", [java_sources(), rust_sources()], ids=["Java", "Rust"])
def test_the_templates_themselves_are_sources(content: bytes, tmp_path: Path) -> None:
    inspection = inspected(tmp_path, content)
    assert [each.code for each in inspection.findings] == ["source-only"]
    assert inspection.main is None


def test_a_main_file_in_a_folder_can_be_named_and_several_are_listed(tmp_path: Path) -> None:
    inspection = inspected(tmp_path, PYTHON, f"{FOLDER}/start.sh")
    assert (inspection.findings, str(inspection.main)) == ((), f"{FOLDER}/start.sh")
    [finding] = inspected(tmp_path, zipped({f"{n}/start.sh": "#!/bin/sh\n" for n in "fedcba"})).findings
    assert finding.code == "several-main-files"
    assert "(a/start.sh, b/start.sh, c/start.sh, d/start.sh, e/start.sh); choose one with --main" in finding.text
