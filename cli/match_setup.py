"""From the options of `spielleiter match` to its setup, and the checks before the first game.

Invariants: nothing is started and nothing is written here. A setup that cannot be played is refused with a text that
says what to change.
"""

from __future__ import annotations

import secrets
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spielleiter.cli.match_file import CWD
from spielleiter.cli.options import is_given, requested_server, why_without_effect
from spielleiter.cli.program_options import entrant

if TYPE_CHECKING:
    from spielleiter.match.setup import MatchSetup


def setup_of(context: click.Context, options: dict[str, Any]) -> MatchSetup:
    """The setup that the options of `match` describe; `options` are by name. Raises SetupError and UsageError."""
    from spielleiter.match.opening_book import arrange, load_openings
    from spielleiter.match.programs.program import Command
    from spielleiter.match.programs.program_names import names_of
    from spielleiter.match.setup import MatchSetup, Patience

    for name in ("player1", "player2"):
        if options[name] is None:
            raise click.UsageError(f"--{name} is missing, expected a command line or builtin:NAME")
    cwd = context.meta.get(CWD) or str(Path.cwd())
    directories = (str(Path(cwd, options[f"cwd{n}"] or "")) for n in (1, 2))
    first, second = (Command.parse(options[f"player{n}"], folder) for n, folder in enumerate(directories, 1))
    commands = first, second
    names = names_of(*commands, (options["name1"], options["name2"]))
    limited = [not (options["no_timeout"] or options[f"no_timeout{n}"]) for n in (1, 2)]
    chosen = {
        **{name: options[name] / 1000 for name in ("soft_timeout", "hard_timeout") if is_given(context, name)},
        **{name: options[name] for name in ("start_piece", "game_end") if options[name] is not None},
    }
    server = requested_server(options)
    if not options["openings"] and is_given(context, "order"):
        raise click.UsageError("--order has no effect without --book")
    if server is not None and (chosen or options["openings"]):
        raise click.UsageError("time limits, openings and rules are set by that server, expected no options for them")
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
    """Check before the first game that the match can be played. Raises SetupError."""
    from spielleiter.match.errors import SetupError
    from spielleiter.match.games.match_server import limits_of, own_config
    from spielleiter.match.stopping import sprt_of
    from spielleiter.server.config.config import limits_problem
    from spielleiter.server.editions import choose_editions

    sprt_of(setup)
    if setup.cwd and not Path(setup.cwd).is_dir():
        raise SetupError(f"{setup.cwd}: the directory that the programs are started in does not exist")
    try:
        config = own_config(setup)
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
    """Check the settings of one program, 0 or 1. Raises SetupError."""
    from spielleiter.match.errors import SetupError
    from spielleiter.match.games.builtin_players import builtin_strategy
    from spielleiter.match.programs.program import Command
    from spielleiter.match.programs.startable import require_startable

    known, cwd = setup.entrants[program], setup.cwd_of(program)
    if builtin_strategy(known.command) and setup.server is None and (known.cwd or known.environment or known.memory):
        raise SetupError(
            f"{known.command} has no process of its own, expected no directory, environment or memory for it"
        )
    if known.cwd and not Path(cwd).is_dir():
        raise SetupError(f"{cwd}: the directory that {known.name} is started in does not exist")
    require_startable(Command.parse(known.command, cwd), cwd)
    if known.memory is not None and sys.platform != "linux":
        raise SetupError(f"{known.name}: memory can be limited on Linux only")
    if setup.server is not None and known.is_unlike:
        raise SetupError(f"{known.name}: time limits are set by that server, expected none for a program")


def check_requirement(setup: MatchSetup, require: str) -> None:
    """Raise SetupError if the match has too few games for `require`, whatever their results are."""
    from spielleiter.match.errors import SetupError
    from spielleiter.match.stats.significance import FEWEST_PAIRS

    if setup.games < 2 * FEWEST_PAIRS:
        raise SetupError(
            f"--require {require}: {setup.games} games are too few to decide which program is better, "
            f"expected at least -n {2 * FEWEST_PAIRS}"
        )
