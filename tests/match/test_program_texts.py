"""What is said about a program after a game."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from spielleiter.match.referee import memory_text, name_of, remarks_on
from spielleiter.programs.processes import ProcessInfo
from spielleiter.programs.sandbox.run import Observations

MEBIBYTE = 1024 * 1024


def program(**facts: Any) -> Any:
    """Return something with the attributes of a `Program`."""
    known = {"exceeded": "", "returncode": 0, "peak_memory": 0, "supervisor_stops": 0, "survivors": ()}
    return SimpleNamespace(**{**known, **facts})


def test_a_process_in_a_sandbox_has_no_id() -> None:
    assert (name_of(ProcessInfo(7, "sleep")), name_of(ProcessInfo(0, "sleep"))) == ("sleep (7)", "sleep")


@pytest.mark.parametrize(
    ("limit", "facts", "text"),
    [
        (None, {"returncode": 1}, ""),
        (100, {"returncode": 0}, ""),
        (
            100,
            {"returncode": 1, "peak_memory": 90 * MEBIBYTE},
            "it was allowed 100 MiB of data and had up to 90 MiB in memory",
        ),
        (
            None,
            {"returncode": -9, "exceeded": "memory"},
            "it was killed because it used more than the contest's 1536 MiB of memory",
        ),
        (
            None,
            {"returncode": -9, "exceeded": "processes"},
            "it was killed because it had more than 512 processes and threads",
        ),
        (
            None,
            {"returncode": -9, "exceeded": "disk"},
            "it was killed because it wrote more than 1024 MiB or 100,000 files, or hid them",
        ),
    ],
)
def test_the_memory_of_a_program_that_failed_is_named(limit: int | None, facts: dict[str, Any], text: str) -> None:
    assert memory_text(limit, program(**facts)) == text


@pytest.mark.parametrize(
    ("facts", "observed", "remarks"),
    [
        ({}, None, ()),
        ({}, Observations("none"), ()),
        (
            {"supervisor_stops": 1, "survivors": (ProcessInfo(3, "bot"),)},
            None,
            (
                "stopped the process that watches over it",
                "could not be ended, not even by SIGKILL: bot (3)",
            ),
        ),
        (
            {},
            Observations("none", network_attempts=3, window_attempts=("cannot open display",)),
            (
                "tried to use the network, which the contest does not have",
                "tried to open a window, which the contest does not have",
            ),
        ),
    ],
)
def test_what_a_program_did_is_a_remark(
    facts: dict[str, Any], observed: Observations | None, remarks: tuple[str, ...]
) -> None:
    assert remarks_on(program(**facts), observed) == remarks
