"""`spielleiter bench`: figures of this machine, side by side with the bare wire.

Law: nothing is measured here, and nothing is asserted: the exit code is 0 whatever the figures are.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from spielleiter.commands import Failure


def _words(_context: click.Context, _parameter: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    return None if value is None else tuple(word.strip() for word in value.split(",") if word.strip())


def _numbers(_context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[int, ...] | None:
    if value is None:
        return None
    words = value.split(",")
    least = 0 if parameter.name == "observers" else 1
    if not all(word.strip().isdecimal() and int(word) >= least for word in words):
        raise click.BadParameter(f"{value!r}: expected whole numbers with commas between them")
    return tuple(int(word) for word in words)


@click.command()
@click.option("--only", callback=_words, metavar="PARTS")
@click.option("--games", callback=_numbers, metavar="N,N")
@click.option("--editions", callback=_words, metavar="NAMES")
@click.option("--observers", callback=_numbers, metavar="N,N")
@click.option("--rounds", type=click.IntRange(1), metavar="N")
@click.option("--seconds", type=click.FloatRange(0.05), metavar="SECONDS")
@click.option("--drivers", type=click.IntRange(1), metavar="N")
@click.option("--json", "json_file", metavar="FILE")
def bench(json_file: str | None, editions: tuple[str, ...] | None, **chosen: object) -> None:
    """Measure server, rules and protocol beside the bare wire, and print one report."""
    from datetime import datetime

    from bench.machine import describe_machine
    from bench.options import Options
    from bench.report import report_text
    from bench.run import run
    from bench.subject import BenchError

    if editions:
        chosen["editions"] = tuple(f"blokus-{name}" for name in editions)
    options = Options(**{name: value for name, value in chosen.items() if value is not None})  # type: ignore[arg-type]
    head = {
        "date": datetime.now().astimezone().isoformat(timespec="seconds"),
        "command": " ".join(["spielleiter", *sys.argv[1:]]),
        **describe_machine(),
    }
    try:
        records = run(options, lambda what: click.echo(what, err=True))
    except BenchError as error:
        raise Failure(str(error)) from error
    if json_file is not None:
        text = json.dumps({**head, "records": [record.to_json() for record in records]}, indent=1)
        if json_file == "-":
            click.echo(text)
            return
        Path(json_file).write_text(text + "\n", encoding="utf-8")
    click.echo(report_text(head, records))
