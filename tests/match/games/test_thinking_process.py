"""The worker process that computes the moves of built-in players."""

from __future__ import annotations

import io
import pickle
import random
from typing import Any

from spielleiter.match.games.thinking_process import serve
from spielleiter.protocol.current_season import DEFAULT_GAME_TYPE
from spielleiter.server.editions import choose_editions

STATE = choose_editions({}, {})[DEFAULT_GAME_TYPE].game.new_state(random.Random(1))


def framed(*messages: Any) -> bytes:
    data = [pickle.dumps(message) for message in messages]
    return b"".join(len(each).to_bytes(4, "big") + each for each in data)


def answers_to(*messages: Any) -> list[Any]:
    written = io.BytesIO()
    serve(io.BytesIO(framed(*messages)), written)
    stream, answers = io.BytesIO(written.getvalue()), []
    while head := stream.read(4):
        answers.append(pickle.loads(stream.read(int.from_bytes(head, "big"))))
    return answers


def test_answers_are_in_order_and_a_failure_affects_one_move_only() -> None:
    answers = answers_to(
        ("new", 1, "first", 1),
        ("new", 2, "first", 1),
        ("move", 1, STATE, None),
        ("move", 2, None, None),
        ("end", 2, None, None),
        ("move", 1, STATE, None),
    )
    assert [key for key, _ in answers] == [1, 2, 1]
    (_, first), (_, failed), (_, second) = answers
    assert first[0] == second[0] is not None
    assert first[1] >= 0 <= first[2]
    assert first[3] == ""
    assert failed[0] is None
    assert failed[3]
