"""What a match is to be, from the options of `spielleiter match`, and what is found out before its first game.

Invariants: nothing is started and nothing is written here. What cannot be played is refused with what to do instead.
"""

from __future__ import annotations

import secrets
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spielleiter.cli.match_file import CWD
from spielleiter.cli.options import is_given, place_of_server, why_without_effect
from spielleiter.cli.program_options import entrant

if TYPE_CHECKING:
    from spielleiter.match.setup import MatchSetup


def setup_of(context: click.Context, options: dict[str, Any]) -> MatchSetup:
    """What the options of `match` ask for, by their names. Raises SetupError and UsageError."""
    from spielleiter.match.opening_book import arrange, load_openings
    from spielleiter.match.programs.program import Command
    from spielleiter.match.programs.program_names import names_of
    from spielleiter.match.setup import MatchSetup, Patience

    for name in ("player1", "player2"):
        if options[name] is None:
            raise click.UsageError(f"--{name} is missing, expected a command line or builtin:NAME")
    cwd = context.meta.get(CWD) or str(Path.cwd())
    places = (str(Path(cwd, options[f"cwd{n}"] or "")) for n in (1, 2))
    first, second = (Command.parse(options[f"player{n}"], place) for n, place in enumerate(places, 1))
    commands = first, second
    names = names_of(*commands, (options["name1"], options["name2"]))
    limited = [not (options["no_timeout"] or options[f"no_timeout{n}"]) for n in (1, 2)]
    chosen = {
        **{name: options[name] / 1000 for name in ("soft_timeout", "hard_timeout") if is_given(context, name)},
        **{name: options[name] for name in ("start_piece", "game_end") if options[name] is not None},
    }
    server = place_of_server(options)
    if not options["openings"] and is_given(context, "order"):
        raise click.UsageError("--order has no effect without --book")
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
    seed = secrets.randbits(32) if options["seed"] is None else options["seed"]
    return MatchSetup(
        entrants=(
            entrant(options, 1, names[0], can_timeout=limited[0]),
            entrant(options, 2, names[1], can_timeout=limited[1]),
        ),
        game_type=options["game"],
        games=options["games"],
        seed=seed,
        run_id=secrets.token_hex(8),
        openings=arrange(openings, options["order"], seed),
        opening_order=options["order"],
        server=server,
        password=options["password"],
        server_options=chosen,
        patience=Patience(options["start_timeout"], options["exit_timeout"], options["game_timeout"]),
        sprt=options["sprt"],
        significance=options["significance"],
        min_games=options["min_tests"] if options["significance"] is not None else 0,
        edition=options["edition"],
        cwd=cwd,
    )


def check_setup(setup: MatchSetup) -> None:
    """Find out before the first game what cannot be. Raises SetupError."""
    from spielleiter.match.errors import SetupError
    from spielleiter.match.games.match_server import limits_of, match_server_config
    from spielleiter.match.stopping import sprt_of
    from spielleiter.server.config.config import limits_problem
    from spielleiter.server.editions import choose_editions

    sprt_of(setup)
    if setup.cwd and not Path(setup.cwd).is_dir():
        raise SetupError(f"{setup.cwd}: the directory that the programs are started in does not exist")
    try:
        config = match_server_config(setup)
    except TypeError as error:
        raise SetupError(str(error)) from None
    for program in (0, 1):
        _check_program(setup, program)
        limits = limits_of(setup, config, program)
        assert limits.soft_timeout is not None
        assert limits.hard_timeout is not None
        problem = limits_problem(limits.soft_timeout, limits.hard_timeout)
        known = setup.entrants[program]
        if problem and known.can_timeout:
            raise SetupError(f"{known.name}: {problem}" if known.is_unlike else problem)
    edition = choose_editions(setup.editions, {})[setup.game_type]
    for name, value in config.game_options.items():
        if problem := why_without_effect(edition, name, value):
            raise SetupError(problem)


def _check_program(setup: MatchSetup, program: int) -> None:
    """Find out what cannot be of one program's settings. Raises SetupError."""
    from spielleiter.match.errors import SetupError
    from spielleiter.match.games.builtin_players import builtin_strategy
    from spielleiter.match.programs.program import Command
    from spielleiter.match.programs.startable import require_startable

    known, cwd = setup.entrants[program], setup.cwd_of(program)
    if builtin_strategy(known.command) and setup.server is None and (known.cwd or known.environment or known.memory):
        raise SetupError(
            f"{known.command} plays without a process of its own, expected no directory, environment or memory for it"
        )
    if known.cwd and not Path(cwd).is_dir():
        raise SetupError(f"{cwd}: the directory that {known.name} is started in does not exist")
    require_startable(Command.parse(known.command, cwd), cwd)
    if known.memory is not None and sys.platform != "linux":
        raise SetupError(f"{known.name}: memory can be limited on Linux only")
    if setup.server is not None and known.is_unlike:
        raise SetupError(f"{known.name}: time limits are that server's own affair, expected none for a program")


def check_requirement(setup: MatchSetup, require: str) -> None:
    """Refuse what could not be found out, whatever happens in the games. Raises SetupError."""
    from spielleiter.match.errors import SetupError
    from spielleiter.match.stats.significance import FEWEST_PAIRS

    if setup.games < 2 * FEWEST_PAIRS:
        raise SetupError(
            f"--require {require}: from {setup.games} games it cannot be told which program is better, "
            f"expected at least -n {2 * FEWEST_PAIRS}"
        )
