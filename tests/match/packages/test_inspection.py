"""Every fault is named by its own code, and a sound package raises no alarm."""

from __future__ import annotations

from pathlib import Path

import pytest

from spielleiter.match.packages.faults import FAULTS
from spielleiter.match.packages.finding import Level
from spielleiter.match.packages.inspection import Inspection, inspect_package
from tests.match.packages.broken_packages import BROKEN, SOUND, Sample


def inspect(folder: Path, sample: Sample) -> Inspection:
    path = folder / "player.zip"
    path.write_bytes(sample.content)
    return inspect_package(path, sample.main)


LARGE = {"too many files", "ZIP bomb"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in LARGE else ()) for name in BROKEN]
)
def test_a_planted_fault_is_found_and_no_other(name: str, tmp_path: Path) -> None:
    sample = BROKEN[name]
    inspection = inspect(tmp_path, sample)
    assert [each.code for each in inspection.findings] == [sample.code], inspection.findings
    (finding,) = inspection.findings
    assert finding.level is FAULTS[sample.code].level
    assert finding.text.isprintable()
    assert "{" not in finding.text
    assert inspection.is_startable == (finding.level is not Level.RED)


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_package_raises_no_alarm(name: str, tmp_path: Path) -> None:
    inspection = inspect(tmp_path, SOUND[name])
    assert inspection.findings == ()
    assert inspection.main is not None
    assert inspection.is_startable


def test_there_is_a_broken_package_for_every_fault() -> None:
    made_elsewhere = {"unreadable-file", "too-large"}
    assert {each.code for each in BROKEN.values()} == set(FAULTS) - made_elsewhere
