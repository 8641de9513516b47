"""`spielleiter bench`: how fast the server is on this machine, compared with the bare wire.

No figure is a failure: the exit code is 0 whatever they are. All processes that the command has started are gone
when it ends, however it ends.
"""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from spielleiter.cli.ctrl_c import raise_on_ctrl_c
from spielleiter.cli.options import Number, WholeNumber
from spielleiter.cli.running import Failure

if TYPE_CHECKING:
    from spielleiter.bench.measurements import Options

_PREFIX: Final = "blokus-"
_PARTS: Final = ("floor", "server", "start", "match")


def _list_of(value: str) -> list[str]:
    return [word.strip() for word in value.split(",") if word.strip()]


def _parts(_context: click.Context, _parameter: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    if value is None:
        return None
    words = _list_of(value)
    if not words or not set(words).issubset(_PARTS):
        raise click.BadParameter(f"{value!r}: expected some of {','.join(_PARTS)}")
    return tuple(words)


def _editions(_context: click.Context, _parameter: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    from spielleiter.server.editions import EDITIONS

    if value is None:
        return None
    known = [name.removeprefix(_PREFIX) for name in EDITIONS if name.startswith(_PREFIX)]
    names = [word.removeprefix(_PREFIX) for word in _list_of(value)]
    if not names or not set(names).issubset(known):
        raise click.BadParameter(f"{value!r}: expected some of {','.join(known)}")
    return tuple(_PREFIX + name for name in names)


def _numbers(least: int, value: str | None) -> tuple[int, ...] | None:
    if value is None:
        return None
    words = _list_of(value)
    if not words or not all(word.isdecimal() and int(word) >= least for word in words):
        raise click.BadParameter(f"{value!r}: expected whole numbers from {least}, with commas between them")
    return tuple(int(word) for word in words)


@click.command(
    epilog=(
        "Parts: floor is the bare wire, a relay of the same bytes; server is `spielleiter serve` with its defaults, "
        "including clocks, events, log and replays; both have the same load, in alternation. start is the time until "
        "a server accepts connections; match is the cost of `spielleiter match` without its programs."
    )
)
@click.option(
    "--only",
    callback=_parts,
    metavar="PARTS",
    help="Parts to measure: floor, server, start, match.  [default: all]",
)
@click.option(
    "--games",
    callback=lambda _context, _parameter, value: _numbers(1, value),
    metavar="N,N",
    help="Numbers of games at once.  [default: 1,20,100,500]",
)
@click.option("--editions", callback=_editions, metavar="NAMES", help="Editions to play.  [default: 2021-r3,2027]")
@click.option(
    "--observers",
    callback=lambda _context, _parameter, value: _numbers(0, value),
    metavar="N,N",
    help="Numbers of observers of each game.  [default: 0,1]",
)
@click.option("--rounds", type=WholeNumber(1), metavar="N", help="How often everything is measured.  [default: 3]")
@click.option(
    "--seconds",
    type=Number(0.05),
    metavar="SECONDS",
    help="How long each load is measured, after all its games have begun.  [default: 2]",
)
@click.option(
    "--drivers",
    type=WholeNumber(1),
    metavar="N",
    help="Number of processes that play.  [default: one for every two cores, four at most]",
)
@click.option(
    "--match-games",
    callback=lambda _context, _parameter, value: _numbers(1, value),
    metavar="N,N",
    help="Numbers of games in a match.  [default: 100,500]",
)
@click.option("--quick", is_flag=True, help="One short round with few games, for a rough comparison.")
@click.option(
    "--json",
    "json_file",
    type=click.Path(dir_okay=False, writable=True, allow_dash=True),
    metavar="FILE",
    help="Write the figures of every round to this file; - writes them to standard output, instead of the report.",
)
def bench(json_file: str | None, *, quick: bool, **chosen: Any) -> None:
    """Measure the server in comparison with the bare wire, its start and matches, and print one report.

    Figures that are compared are measured in alternation in the same run. They are medians of the rounds, with their
    minimum and maximum; the end of the report lists the targets and whether they are met. Progress goes to standard
    error. A full run takes about ten minutes, in which the machine should do nothing else. Needs Linux.
    """
    from spielleiter.bench.machine import missing_requirement

    if problem := missing_requirement():  # found before modules are imported that exist only on Linux
        raise Failure(problem)
    from spielleiter.bench.measurements import Options
    from spielleiter.bench.subprocesses import BenchError
    from spielleiter.common.errors import os_error_text

    given = {key: value for key, value in chosen.items() if value is not None}
    raise_on_ctrl_c()
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C, so that all processes are ended
    try:
        _measure(Options.quick(**given) if quick else Options(**given), json_file)
    except BenchError as error:
        raise Failure(str(error)) from error
    except OSError as error:
        raise Failure(f"the benchmark cannot run on this machine: {os_error_text(error)}") from error
    finally:
        signal.signal(signal.SIGTERM, before)


def _measure(options: Options, json_file: str | None) -> None:
    from datetime import UTC, datetime

    from spielleiter.bench.machine import describe_machine
    from spielleiter.bench.measurements import run
    from spielleiter.bench.report import report_text, targets_of
    from spielleiter.common.files import write_whole

    head: dict[str, str | int | float] = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": " ".join(["spielleiter", *sys.argv[1:]]),
        **describe_machine(),
        "rounds": options.rounds,
        "seconds": options.seconds,
        "drivers": options.drivers,
    }
    records = run(options, lambda what: click.echo(what, err=True))
    targets = targets_of(records)
    if json_file != "-":
        click.echo(report_text(head, records, targets))
    if json_file is not None:
        report = {
            **head,
            "records": [record.to_json() for record in records],
            "targets": [target.to_json() for target in targets],
        }
        text = json.dumps(report, indent=1, allow_nan=False) + "\n"
        if json_file == "-":
            click.echo(text, nl=False)
            return
        try:
            write_whole(Path(json_file), text)
        except OSError as error:
            raise Failure(f"{json_file} cannot be written ({error.strerror})") from error
