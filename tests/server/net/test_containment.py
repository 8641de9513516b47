"""An exception inside of the block goes to the callback, and nothing keeps the failed frame alive."""

from __future__ import annotations

import gc
import weakref

import pytest

from spielleiter.server.net.containment import BugsContained


class Local:
    """A local variable of the function that fails."""


def test_a_bug_is_passed_to_the_callback_and_not_propagated() -> None:
    noted: list[Exception] = []
    error = LookupError("x")
    with BugsContained(noted.append):
        raise error
    with BugsContained(noted.append):
        pass
    assert noted == [error]


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_the_end_of_the_program_is_propagated(kind: type[BaseException]) -> None:
    noted: list[Exception] = []
    with pytest.raises(kind), BugsContained(noted.append):
        raise kind
    assert noted == []


def test_the_failed_frame_is_freed_without_a_garbage_collection() -> None:
    def fail() -> weakref.ref[Local]:
        local = Local()
        with BugsContained(lambda _: None):
            raise LookupError
        return weakref.ref(local)

    gc.disable()
    try:
        assert fail()() is None
    finally:
        gc.enable()
