"""Single exceptions are taken out of exception groups."""

from __future__ import annotations

import pytest

from spielleiter.common.errors import first_error, unwrapped


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (LookupError("a"), "LookupError('a')"),
        (ExceptionGroup("", [ExceptionGroup("", [LookupError("a")])]), "LookupError('a')"),
        (BaseExceptionGroup("", [LookupError("a"), KeyboardInterrupt()]), "KeyboardInterrupt()"),
        (ExceptionGroup("b", [LookupError("a"), LookupError("c")]), "ExceptionGroup('b', "),
    ],
)
def test_a_single_error_is_unwrapped_and_a_keyboard_interrupt_comes_first(error: BaseException, expected: str) -> None:
    assert repr(unwrapped(error)).startswith(expected)


def test_the_first_error_of_nested_groups() -> None:
    first = LookupError("a")
    nested = ExceptionGroup("", [ExceptionGroup("", [first, LookupError("b")]), ValueError("c")])
    assert first_error(nested) is first
    assert first_error(first) is first
