"""What a gameType means, unless the operator chooses another edition."""

from __future__ import annotations

import random
import re

import pytest

from spielleiter.server.core.policy import Edition
from spielleiter.server.editions import EDITIONS, choose_default, choose_editions, editions_meant
from spielleiter.server.errors import Fault, StartError

GAME_TYPE = "swc_2021_blokus"
FIRST = {edition.game_type: edition for edition in reversed(list(EDITIONS.values()))}


@pytest.mark.parametrize("name", EDITIONS)
def test_an_edition_has_its_name_and_plays_its_game(name: str) -> None:
    edition = EDITIONS[name]
    assert edition.name == name
    assert edition.dialect.name == name
    state = edition.game.new_state(random.Random(1))
    assert state.outcome() is None
    assert next(iter(state.generate_legal_moves()), None) is not None


def test_a_game_type_means_its_first_edition() -> None:
    assert {game_type: edition.name for game_type, edition in choose_editions({}, {}).items()} == {
        game_type: edition.name for game_type, edition in FIRST.items()
    }


def test_the_operator_may_choose_another() -> None:
    chosen = choose_editions({GAME_TYPE: "blokus-2021-21.4.0"}, {})
    assert chosen[GAME_TYPE].name == "blokus-2021-21.4.0"
    assert list(chosen) == list(choose_editions({}, {}))


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ({"swc_1999": "blokus-2021-r3"}, "edition swc_1999=blokus-2021-r3: there is no such gameType, expected swc_"),
        ({GAME_TYPE: "r9"}, f"edition {GAME_TYPE}=r9: there is no such edition, expected blokus-2021-r3 or blokus-"),
    ],
)
def test_what_there_is_not_is_named_in_one_line(chosen: dict[str, str], said: str) -> None:
    with pytest.raises(StartError) as caught:
        choose_editions(chosen, {})
    assert str(caught.value).startswith(said)
    assert "\n" not in str(caught.value)


def test_options_hold_for_the_games() -> None:
    edition = choose_editions({}, {"startPiece": "PENTO_W", "gameEnd": "noMovesLeft"})[GAME_TYPE]
    state = edition.game.new_state(random.Random())
    assert state.start_shape.name == "PENTO_W"  # type: ignore[attr-defined]
    assert not state.rules.ends_with_finished_color  # type: ignore[attr-defined]


@pytest.mark.parametrize("options", [{"startPiece": "MONO"}, {"gameEnd": "never"}])
def test_an_option_with_a_wrong_value_stops_the_start(options: dict[str, str]) -> None:
    with pytest.raises(StartError):
        choose_editions({}, options)


def test_a_refused_start_piece_is_told_every_one_that_some_game_takes() -> None:
    with pytest.raises(StartError) as refused:
        choose_editions({}, {"startPiece": "PENTO_XX"})
    text = str(refused.value)
    for shape in ("PENTO_V", "PENTO_X"):  # the second one is not in every season
        assert len(re.findall(rf"\b{shape}\b", text.partition(" (")[0])) == 1
    assert text.endswith("(did you mean 'PENTO_X'?)")


def test_a_value_without_a_list_of_known_ones_is_refused_in_the_games_own_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("spielleiter.server.editions.EDITIONS", {"hase-und-igel-2018": EDITIONS["hase-und-igel-2018"]})
    (option,) = EDITIONS["hase-und-igel-2018"].game.option_names
    with pytest.raises(StartError, match="is not a board of this game"):
        choose_editions({}, {option: "SS"})


def test_the_default_game_is_the_one_named_or_the_first() -> None:
    editions: dict[str, Edition] = {GAME_TYPE: EDITIONS["blokus-2021-r3"], "other": EDITIONS["blokus-2021-21.4.0"]}
    assert choose_default(None, editions) is editions[GAME_TYPE]
    assert choose_default("other", editions) is editions["other"]
    with pytest.raises(
        StartError, match=f"defaultGame chess: there is no such gameType, expected {GAME_TYPE} or other"
    ):
        choose_default("chess", editions)


def test_an_edition_is_no_default_game() -> None:
    with pytest.raises(StartError) as refused:
        choose_default("hase-und-igel-2018", choose_editions({}, {}))
    assert "that is an edition, expected its gameType swc_2018_hase_und_igel" in str(refused.value)


@pytest.mark.parametrize(
    ("word", "count"),
    [("swc_2021_blokus", 4), ("blokus-2021", 4), ("Blokus", 5), ("hase_und_igel", 1), ("hase", 1), ("has", 0), ("", 0)],
)
def test_a_game_is_meant_by_its_game_type_and_by_what_its_editions_begin_with(word: str, count: int) -> None:
    assert len(editions_meant(word)) == count


def test_the_documents_policy_and_the_release_s_differ_in_what_the_specification_lists() -> None:
    documented, release = EDITIONS["blokus-2021-r3"].policy, EDITIONS["blokus-2021-21.4.0"].policy
    assert (documented.ends_players_streams, release.ends_players_streams) == (True, False)
    assert (documented.judges_joined_games, release.judges_joined_games) == (True, False)
    assert (documented.explains_protocol_errors, release.explains_protocol_errors) == (True, False)
    assert (documented.observing_sends_state, release.observing_sends_state) == (True, False)
    assert (documented.accepts_single_slot, release.accepts_single_slot) == (False, True)
    assert documented.unanswered_faults == frozenset()
    assert Fault.NO_GAME_TYPE in release.unanswered_faults
