"""What strategies and responders return is checked."""

from __future__ import annotations

import pytest

from spielleiter.client.answer_checks import refuse_return_value, refuse_wrong_hints
from spielleiter.client.errors import StrategyError


@pytest.mark.parametrize("hints", ["a hint", (1,), None, {"a"}])
def test_hints_have_to_be_a_sequence_of_texts(hints: object) -> None:
    with pytest.raises(StrategyError, match="expected a tuple of texts"):
        refuse_wrong_hints(hints)


def test_texts_in_a_tuple_or_list_are_hints() -> None:
    for hints in ((), ("a", "b"), ["a"]):
        refuse_wrong_hints(hints)


def test_a_responder_must_not_return_a_value() -> None:
    refuse_return_value(None)
    with pytest.raises(StrategyError, match=r"returned a int, which is not sent"):
        refuse_return_value(7)
