"""What a match is to be, from the options of `spielleiter match`, and what is found out before its first game.

Invariants: nothing is started and nothing is written here. What cannot be played is refused with what to do instead.
"""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spielleiter.options import is_given, place_of_server, why_without_effect

if TYPE_CHECKING:
    from match.setup import MatchSetup


def setup_of(context: click.Context, options: dict[str, Any]) -> MatchSetup:
    """What the options of `match` ask for, by their names. Raises SetupError and UsageError."""
    from match.names import names_of
    from match.plan import load_openings
    from match.program import Command
    from match.setup import Entrant, MatchSetup, Patience

    for name in ("player1", "player2"):
        if options[name] is None:
            raise click.UsageError(f"--{name} is missing, expected a command line or builtin:NAME")
    commands = Command.parse(options["player1"]), Command.parse(options["player2"])
    names = names_of(*commands, (options["name1"], options["name2"]))
    limited = [not (options["no_timeout"] or options[f"no_timeout{n}"]) for n in (1, 2)]
    chosen = {
        **{name: options[name] / 1000 for name in ("soft_timeout", "hard_timeout") if is_given(context, name)},
        **{name: options[name] for name in ("start_piece", "game_end") if options[name] is not None},
    }
    server = place_of_server(options)
    if server is not None and (chosen or options["openings"]):
        raise click.UsageError(
            "time limits, openings and rules are that server's own affair, expected no options for them"
        )
    game_options = {"startPiece": options["start_piece"], "gameEnd": options["game_end"]}
    openings = (
        load_openings(
            options["openings"],
            options["opening_turn"],
            options["game"],
            {name: value for name, value in game_options.items() if value is not None},
            {} if options["edition"] is None else {options["game"]: options["edition"]},
        )
        if options["openings"]
        else ()
    )
    return MatchSetup(
        entrants=(
            Entrant(names[0], options["player1"], limited[0]),
            Entrant(names[1], options["player2"], limited[1]),
        ),
        game_type=options["game"],
        games=options["games"],
        seed=secrets.randbits(32) if options["seed"] is None else options["seed"],
        run_id=secrets.token_hex(8),
        openings=openings,
        server=server,
        password=options["password"],
        server_options=chosen,
        patience=Patience(options["start_timeout"], options["exit_timeout"], options["game_timeout"]),
        sprt=options["sprt"],
        significance=options["significance"],
        min_games=options["min_tests"] if options["significance"] is not None else 0,
        edition=options["edition"],
        cwd=str(Path.cwd()),
    )


def check_setup(setup: MatchSetup) -> None:
    """Find out before the first game what cannot be. Raises SetupError."""
    from match.arena import own_config
    from match.errors import SetupError
    from match.program import Command
    from match.startable import require_startable
    from match.stopping import sprt_of
    from server.config import limits_problem
    from server.editions import choose_editions

    sprt_of(setup)
    if setup.cwd and not Path(setup.cwd).is_dir():
        raise SetupError(f"{setup.cwd}: the directory that the programs are started in does not exist")
    for entrant in setup.entrants:
        require_startable(Command.parse(entrant.command, setup.cwd), setup.cwd)
    try:
        config = own_config(setup)
    except TypeError as error:
        raise SetupError(str(error)) from None
    problem = limits_problem(config.soft_timeout, config.hard_timeout)
    if problem and any(entrant.can_timeout for entrant in setup.entrants):
        raise SetupError(problem)
    edition = choose_editions(setup.editions, {})[setup.game_type]
    for name, value in config.game_options.items():
        if problem := why_without_effect(edition, name, value):
            raise SetupError(problem)


def check_requirement(setup: MatchSetup, require: str) -> None:
    """Refuse what could not be found out, whatever happens in the games. Raises SetupError."""
    from match.errors import SetupError
    from match.significance import FEWEST_PAIRS

    if setup.games < 2 * FEWEST_PAIRS:
        raise SetupError(
            f"--require {require}: from {setup.games} games it cannot be told which program is better, "
            f"expected at least -n {2 * FEWEST_PAIRS}"
        )
