"""The options for the conditions of a match."""

from __future__ import annotations

import pytest

from spielleiter.cli.conditions import NAMES, conditions_of
from spielleiter.cli.match import match_command
from spielleiter.cli.tournament import tournament
from spielleiter.match.game_folder import KeepPolicy
from spielleiter.match.runner import Conditions


@pytest.mark.parametrize("command", [match_command, tournament], ids=["match", "tournament"])
def test_both_commands_have_the_options_with_the_runners_defaults(command: object) -> None:
    options = {parameter.name: parameter for parameter in command.params}  # type: ignore[attr-defined]
    assert set(NAMES) <= set(options)
    assert Conditions(**conditions_of({name: options[name].default for name in NAMES})) == Conditions()


def test_the_options_set_the_conditions_of_the_runner() -> None:
    chosen = Conditions(**conditions_of({"keep": "failed", "restart": "never", "keep_playing": True}))
    assert (chosen.keep, chosen.is_restarting, chosen.keeps_playing) == (KeepPolicy.FAILED, False, True)
