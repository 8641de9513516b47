"""A gameType means its first edition, unless the operator chooses another one."""

from __future__ import annotations

import random
import re

import pytest

from spielleiter.protocol.current_season import DEFAULT_GAME_TYPE
from spielleiter.server.core.policy import Edition, Policy
from spielleiter.server.editions import EDITIONS, choose_default, choose_editions, editions_meant, game_option_problem
from spielleiter.server.errors import StartError

GAME_TYPE = "swc_2021_blokus"


@pytest.mark.parametrize("name", EDITIONS)
def test_an_edition_has_the_name_of_its_dialect_and_a_playable_game(name: str) -> None:
    edition = EDITIONS[name]
    assert edition.name == name
    assert edition.dialect.name == name
    state = edition.game.new_state(random.Random(1))
    assert state.outcome() is None
    assert next(iter(state.generate_legal_moves()), None) is not None


def test_the_operator_may_choose_another_edition() -> None:
    chosen = choose_editions({GAME_TYPE: "blokus-2021-21.4.0"}, {})
    assert chosen[GAME_TYPE].name == "blokus-2021-21.4.0"
    usual = choose_editions({}, {})
    assert list(chosen) == list(usual)
    assert usual[GAME_TYPE].name == "blokus-2021-r3"


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"swc_1999": "blokus-2021-r3"}, "edition swc_1999=blokus-2021-r3: there is no such gameType, expected swc_"),
        ({GAME_TYPE: "r9"}, f"edition {GAME_TYPE}=r9: there is no such edition, expected blokus-2021-r3 or blokus-"),
    ],
)
def test_unknown_names_are_refused_with_one_line(chosen: dict[str, str], message: str) -> None:
    with pytest.raises(StartError) as caught:
        choose_editions(chosen, {})
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_options_apply_to_the_games() -> None:
    edition = choose_editions({}, {"startPiece": "PENTO_W", "gameEnd": "noMovesLeft"})[GAME_TYPE]
    state = edition.game.new_state(random.Random())
    assert state.start_shape.name == "PENTO_W"  # type: ignore[attr-defined]
    assert not state.rules.ends_with_finished_color  # type: ignore[attr-defined]


def test_the_refusal_of_a_start_piece_names_those_that_any_game_accepts() -> None:
    with pytest.raises(StartError) as refused:
        choose_editions({}, {"startPiece": "PENTO_XX"})
    text = str(refused.value)
    for shape in ("PENTO_V", "PENTO_X"):  # not every season has the second one
        assert len(re.findall(rf"\b{shape}\b", text.partition(" (")[0])) == 1
    assert text.endswith("(did you mean 'PENTO_X'?)")


def test_a_value_without_a_list_of_known_ones_is_refused_with_the_text_of_the_game(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("spielleiter.server.editions.EDITIONS", {"hase-und-igel-2018": EDITIONS["hase-und-igel-2018"]})
    (option,) = EDITIONS["hase-und-igel-2018"].game.option_names
    with pytest.raises(StartError, match="is not a board of this game"):
        choose_editions({}, {option: "SS"})


def test_the_default_game_is_the_configured_one_or_the_current_season_or_the_first() -> None:
    every = choose_editions({}, {})
    assert choose_default(None, dict(reversed(every.items()))) is every[DEFAULT_GAME_TYPE]
    editions: dict[str, Edition] = {GAME_TYPE: EDITIONS["blokus-2021-r3"], "other": EDITIONS["blokus-2021-21.4.0"]}
    assert choose_default(None, editions) is editions[GAME_TYPE]
    assert choose_default("other", editions) is editions["other"]
    with pytest.raises(
        StartError, match=f"defaultGame chess: there is no such gameType, expected {GAME_TYPE} or other"
    ):
        choose_default("chess", editions)
    with pytest.raises(StartError, match="that is an edition, expected its gameType swc_2018_hase_und_igel"):
        choose_default("hase-und-igel-2018", choose_editions({}, {}))


@pytest.mark.parametrize(
    ("word", "count"),
    [("swc_2021_blokus", 4), ("blokus-2021", 4), ("Blokus", 5), ("hase_und_igel", 1), ("hase", 1), ("has", 0), ("", 0)],
)
def test_a_game_is_named_by_its_game_type_or_the_beginning_of_its_editions(word: str, count: int) -> None:
    assert len(editions_meant(word)) == count


def test_every_field_differs_between_some_editions() -> None:
    """A field in which all editions agree would be a branch that is never taken."""
    for name in Policy.__struct_fields__:
        assert len({getattr(edition.policy, name) for edition in EDITIONS.values()}) > 1, name


@pytest.mark.parametrize(
    ("game_type", "value", "problem"),
    [
        ("swc_2021_blokus", "PENTO_V", None),
        ("swc_2027_blokus", "PENTO_X", None),
        ("swc_2021_blokus", "PENTO_X", "startPiece: 'PENTO_X' is not one of"),
        ("swc_2018_hase_und_igel", "PENTO_V", "swc_2018_hase_und_igel has no option startPiece"),
    ],
)
def test_options_that_a_game_does_not_take_are_recognised(game_type: str, value: str, problem: str | None) -> None:
    found = game_option_problem(choose_editions({}, {})[game_type], "startPiece", value)
    assert (found is None) == (problem is None)
    assert (found or "").startswith(problem or "")
