"""What the settings for all tests do."""

from __future__ import annotations

import sys

import pytest


@pytest.mark.no_cover
def test_a_test_with_the_mark_no_cover_is_not_traced() -> None:
    assert sys.gettrace() is None
