"""What the settings for all tests do."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from spielleiter.common.process import hide_this_process


@pytest.mark.no_cover
def test_a_test_with_the_mark_no_cover_is_not_traced() -> None:
    assert sys.gettrace() is None


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux hides processes")
@pytest.mark.parametrize("turn", [1, 2])
def test_a_test_that_hides_its_process_does_not_hide_that_of_the_next(turn: int) -> None:
    if sys.platform == "linux":  # for mypy
        assert Path("/proc/self/environ").stat().st_uid == os.geteuid()
    hide_this_process()
