"""The setup of a match from the options of `spielleiter match`.

Invariants: nothing is started and nothing is written here. A match that cannot be played is refused with a message that
says what to do instead.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spielleiter.cli.match_file import CWD
from spielleiter.cli.options import is_given, requested_server
from spielleiter.cli.program_options import entrant

if TYPE_CHECKING:
    from spielleiter.match.plan import MatchSetup


def setup_of(context: click.Context, options: dict[str, Any], *, is_played_elsewhere: bool = False) -> MatchSetup:
    """The match that the options of `match`, by their names, describe. Raises SetupError and UsageError.

    With `is_played_elsewhere`, programs do not have to exist on this machine.
    """
    from spielleiter.match.plan import ProgramTimeouts
    from spielleiter.match.preparation import prepare_match

    for name in ("player1", "player2"):
        if options[name] is None:
            raise click.UsageError(f"--{name} is missing, expected a command line or builtin:NAME")
    limited = [not (options["no_timeout"] or options[f"no_timeout{n}"]) for n in (1, 2)]
    chosen = {
        **{name: options[name] / 1000 for name in ("soft_timeout", "hard_timeout") if is_given(context, name)},
        **{name: options[name] for name in ("start_piece", "game_end") if options[name] is not None},
    }
    server = requested_server(options)
    if not options["openings"] and is_given(context, "order"):
        raise click.UsageError("--order has no effect without --book")
    if server is not None and (chosen or options["openings"]):
        raise click.UsageError(
            "time limits, rules and openings are set by the running server, expected no options for them"
        )
    return prepare_match(
        entrant(options, 1, options["name1"] or "", can_timeout=limited[0]),
        entrant(options, 2, options["name2"] or "", can_timeout=limited[1]),
        games=options["games"],
        game_type=options["game"],
        edition=options["edition"],
        seed=options["seed"],
        book=options["openings"] or None,
        order=options["order"],
        opening_turn=options["opening_turn"],
        **chosen,
        timeouts=ProgramTimeouts(options["start_timeout"], options["exit_timeout"], options["game_timeout"]),
        server=server,
        password=options["password"],
        sprt=options["sprt"],
        significance=options["significance"],
        min_games=options["min_tests"],
        cwd=context.meta.get(CWD) or Path.cwd(),
        is_played_elsewhere=is_played_elsewhere,
    )
