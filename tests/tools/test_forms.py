"""The table of a release's wire form, and the differences between two."""

from __future__ import annotations

import json
from typing import Any

from tools.season.forms import Forms, form_differences, forms_as_markdown, read_forms
from tools.season.rules import Rules

OLD: Forms = {
    "forms": {
        "sc.plugin2026.GameState": {
            "name": "state",
            "parts": [
                {"name": "turn", "type": "int", "as": "attribute"},
                {"name": "lastMove", "type": "Move", "as": "element"},
                {"name": "board", "type": "Board", "as": "element", "converter": "BoardConverter"},
            ],
        },
        "sc.api.plugins.Team": {"name": "team", "values": ["ONE", "TWO"]},
        "sc.protocol.room.MoveRequest": {"name": "moveRequest", "parts": []},
    },
    "texts": {"Mistake": {"BLOCKED": "Zielfeld ist besetzt"}},
    "constants": {"Constants": {"ROUND_LIMIT": "30"}},
}


def changed() -> Forms:
    """The same of another season, with a change of each kind."""
    new: Forms = json.loads(json.dumps(OLD).replace("plugin2026", "plugin2027"))
    parts = new["forms"]["sc.plugin2027.GameState"]["parts"]
    parts.reverse()
    parts.append({"name": "firstUnion", "type": "Team", "as": "attribute"})
    new["forms"]["sc.api.plugins.Team"]["values"] += ["THREE"]
    del new["forms"]["sc.protocol.room.MoveRequest"]
    new["texts"]["Mistake"]["BLOCKED"] = "besetzt"
    new["constants"]["Constants"]["ROUND_LIMIT"] = "25"
    return new


class Classes(Rules):
    """A release whose sources still have an older season."""

    def __init__(self) -> None: ...

    def ask(self, *_words: str) -> dict[str, Any]:
        old_form = {"sc.plugin2023.Move": {"name": "move", "parts": []}}
        return {**OLD, "forms": {**OLD["forms"], **old_form}}


def test_older_seasons_in_the_sources_are_left_out() -> None:
    assert read_forms(Classes()) == OLD


def test_a_table_has_the_parts_in_their_order() -> None:
    text = "\n".join(forms_as_markdown(OLD))
    assert "## `state` (plugin2026.GameState)" in text
    assert text.index("| `turn` | attribute | `int` |") < text.index("| `board` | element, BoardConverter | `Board` |")
    assert "One of ONE, TWO." in text
    assert "Empty." in text
    assert "| `BLOCKED` | Zielfeld ist besetzt |" in text
    assert "| `ROUND_LIMIT` | 30 |" in text


def test_equal_forms_do_not_differ_though_the_year_does() -> None:
    assert list(form_differences(OLD, json.loads(json.dumps(OLD).replace("2026", "2027")))) == []


def test_each_kind_of_difference_is_one_line() -> None:
    assert list(form_differences(OLD, changed())) == [
        "~ Constants.ROUND_LIMIT: 30 → 25",
        "~ Mistake.BLOCKED: Zielfeld ist besetzt → besetzt",
        "~ api.plugins.Team values: ONE TWO → ONE TWO THREE",
        "+ plugin.GameState.firstUnion: Team, attribute",
        "- protocol.room.MoveRequest: `moveRequest`",
        "~ plugin.GameState, order: turn lastMove board → board lastMove turn",
    ]
