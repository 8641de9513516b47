"""What the settings for all tests do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from spielleiter.common.process import hide_this_process
from tests.conftest import LONGEST_REPORT
from tests.timeouts import HANG_TIMEOUT


@pytest.mark.no_cover
def test_a_test_with_the_mark_no_cover_is_not_traced() -> None:
    assert sys.gettrace() is None


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux hides processes")
@pytest.mark.parametrize("turn", [1, 2])
def test_a_test_that_hides_its_process_does_not_hide_that_of_the_next(turn: int) -> None:
    if sys.platform == "linux":  # for mypy
        assert Path("/proc/self/environ").stat().st_uid == os.geteuid()
    hide_this_process()


FAILING = """
from tests.conftest import pytest_runtest_makereport

def test_values():
    assert [str(number) for number in range(200_000)] == []

def test_output():
    print("x" * 5_000_000)
    assert False, "y" * 5_000_000 + "the reason"
"""


@pytest.mark.slow
def test_a_failure_is_shown_with_a_bounded_part_of_its_values_and_outputs(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("from tests.conftest import pytest_runtest_makereport\n")
    (tmp_path / "test_it.py").write_text(FAILING)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), "test_it.py"],
        cwd=tmp_path,
        env={**os.environ, "CI": "true", "PYTHONPATH": str(Path(__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG_TIMEOUT,
    )
    assert "2 failed" in done.stdout
    assert "characters are left out here" in done.stdout
    assert "the reason" in done.stdout
    assert len(done.stdout) < 10 * LONGEST_REPORT
