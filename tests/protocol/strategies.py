"""Strategies for random messages, to test properties that hold for all of them."""

from __future__ import annotations

import random
from decimal import Decimal
from functools import lru_cache
from typing import Final

from hypothesis import strategies as st

from spielleiter.game.blokus.moves import SetMove, SkipMove
from spielleiter.game.blokus.pieces import Color, Rotation, Shape
from spielleiter.game.blokus.state import BLOKUS_2021, BlokusState
from spielleiter.protocol import messages as m

XML_CHARACTERS: Final = st.one_of(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff"),
    st.sampled_from("\t\n\r<>&'\""),
)
texts: Final = st.text(XML_CHARACTERS, max_size=12)
words: Final = st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1, max_size=12)
"""Texts between tags, where the white space around them is lost."""
maybe_texts: Final = st.none() | texts
int32s: Final = st.integers(-(2**31), 2**31 - 1)
booleans: Final = st.booleans()
names: Final = st.tuples(texts, texts)

slots: Final = st.builds(m.Slot, maybe_texts, booleans, booleans, booleans)
requests: Final = st.one_of(
    st.builds(m.JoinRequest, maybe_texts),
    st.builds(m.JoinRoomRequest, maybe_texts),
    st.builds(m.JoinPreparedRequest, maybe_texts),
    st.builds(m.AuthenticateRequest, texts, st.sampled_from(["password", "passphrase"])),
    st.just(m.AuthenticateRequest()),
    st.builds(m.PrepareRequest, maybe_texts, st.lists(slots, max_size=3).map(tuple), booleans, st.none() | words),
    st.builds(m.ObserveRequest, maybe_texts),
    st.builds(m.PauseRequest, maybe_texts, booleans),
    st.builds(m.StepRequest, maybe_texts, booleans),
    st.builds(m.CancelRequest, maybe_texts),
    st.builds(m.TestModeRequest, booleans),
    st.builds(m.ScoreForPlayerRequest, maybe_texts),
    st.sampled_from([m.StatusRequest(), m.FeedRequest(), m.MetricsRequest()]),
)

fragments: Final = st.builds(m.Fragment, texts, st.sampled_from(m.Aggregation), booleans)
decimals: Final = st.decimals(-1000, 1000, places=5) | st.integers(-9, 9).map(Decimal)
events: Final = st.one_of(
    st.builds(m.Joined, maybe_texts),
    st.builds(m.JoinedGameRoom, maybe_texts, st.none() | int32s, st.none() | booleans),
    st.builds(m.Left, maybe_texts),
    st.builds(m.Prepared, maybe_texts, st.lists(words, max_size=3).map(tuple)),
    st.builds(m.Observed, maybe_texts),
    st.builds(m.Testing, booleans),
    st.builds(m.Status, words),
    st.builds(m.FeedUpdate, words),
    st.builds(m.MetricsText, words),
    st.builds(m.PlayerScore, texts, int32s, st.lists(st.tuples(fragments, decimals), max_size=3).map(tuple)),
)

set_moves: Final = st.builds(
    SetMove,
    st.sampled_from(Color),
    st.sampled_from(Shape),
    st.sampled_from(Rotation),
    booleans,
    int32s | st.integers(-1, 20),
    int32s | st.integers(-1, 20),
)
moves: Final = set_moves | st.builds(SkipMove, st.none() | st.sampled_from(Color))
move_data: Final = st.builds(m.MoveData, moves, st.lists(texts, max_size=3).map(tuple))


@lru_cache
def random_game(seed: int) -> tuple[BlokusState, ...]:
    """Every position of a random game, in which about every tenth move is a skip."""
    rng = random.Random(seed)
    state: BlokusState = BLOKUS_2021.new_state(rng)
    states = [state]
    while state.outcome() is None:
        legal = list(state.generate_legal_moves())
        skip = SkipMove(state.color_on_turn)
        is_skip = rng.random() < 0.1 and state.check(skip) is None
        state = state.play(skip if is_skip else rng.choice(legal))
        states.append(state)
    return tuple(states)


states: Final = st.integers(0, 3).flatmap(lambda seed: st.sampled_from(random_game(seed)))
mementos: Final = st.builds(m.Memento, states, names, st.lists(texts, max_size=2).map(tuple)).map(
    lambda memento: memento if memento.state.last_move else m.Memento(memento.state, memento.names)  # type: ignore[attr-defined]
)

scores: Final = st.builds(m.Score, st.sampled_from(m.Cause), texts, st.lists(int32s, max_size=3).map(tuple))


@st.composite
def results(draw: st.DrawFn) -> m.Result:
    """A result in which only the winners have names, since only their names are written."""
    winners = draw(st.sampled_from([(), (0,), (1,), (0, 1)]))
    first, second = draw(names)
    return m.Result(
        draw(st.lists(fragments, max_size=3).map(tuple)),
        draw(st.lists(scores, max_size=2).map(tuple)),
        winners,
        (first if 0 in winners else "", second if 1 in winners else ""),
    )


room_data: Final = st.one_of(
    move_data,
    st.builds(m.WelcomeMessage, st.sampled_from([0, 1])),
    st.just(m.MoveRequest()),
    mementos,
    results(),
    st.builds(m.Paused, booleans),
    st.builds(m.ErrorMessage, texts, st.none() | move_data),
)
room_messages: Final = st.builds(m.RoomMessage, maybe_texts, st.none() | room_data)
packets: Final = st.one_of(requests, events, room_messages, st.just(m.CloseConnection()))
unknown_packets: Final = st.builds(m.UnknownPacket, words)
messages: Final = packets | st.builds(m.ErrorPacket, texts, st.none() | packets | unknown_packets)
