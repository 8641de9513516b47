"""The options of `match` and `tournament` that play the games on several machines.

Invariants: without `--cluster`, nothing of Dask is loaded. What Dask prints is kept off the terminal; what a person has
to know about the machines is one line on standard error.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from spielleiter.cli.commands import Misuse, print_line
from spielleiter.cli.decorated import Decorated
from spielleiter.cli.numbers import Number
from spielleiter.server.setting import MAX_WHOLE_NUMBER

if TYPE_CHECKING:
    from spielleiter.cluster.venue import ClusterSettings
    from spielleiter.match.runner import Conditions

NAMES: Final = ("cluster", "ship", "max_slowdown", "unencrypted")


def cluster_options(command: Decorated) -> Decorated:
    """Decorate a command with these options; their parameters are NAMES."""
    for option in (
        click.option(
            "--unencrypted",
            is_flag=True,
            help="With --cluster tcp://: use a scheduler on another machine without TLS, although everybody in its "
            "network can run programs on the workers.",
        ),
        click.option(
            "--max-slowdown",
            type=Number(1, MAX_WHOLE_NUMBER),
            metavar="FACTOR",
            help="With --cluster: use no machine whose cores are slower than those of the fastest one by more than "
            "FACTOR.",
        ),
        click.option(
            "--ship",
            type=click.Path(path_type=Path),
            multiple=True,
            metavar="PATH",
            help="With --cluster: send this file or folder to each machine; can be repeated. Without it, programs have "
            "to exist there.",
        ),
        click.option(
            "--cluster",
            metavar="ADDRESS",
            help="Play the games on the workers of a Dask scheduler: tcp://HOST:PORT, tls://HOST:PORT, or local:N for "
            "N worker processes on this machine (docs/cluster.md). They play as many games at a time as they have "
            "cores, or as --concurrency says.",
        ),
    ):
        command = option(command)
    return command


def cluster_of(options: Mapping[str, Any]) -> ClusterSettings | None:
    """The cluster that the options describe; None without one. Raises SetupError and UsageError."""
    if options["cluster"] is None:
        for name in NAMES[1:]:
            if options[name]:
                raise click.UsageError(f"--{name.replace('_', '-')} has no effect without --cluster")
        return None
    from spielleiter.cluster.address import ClusterAddress
    from spielleiter.cluster.engine import require_distributed
    from spielleiter.cluster.venue import ClusterSettings
    from spielleiter.common.errors import SetupError

    address = ClusterAddress.parse(options["cluster"])
    require_distributed()
    for path in options["ship"]:
        if not path.exists():
            raise SetupError(f"--ship {path}: there is no such file or folder")
    return ClusterSettings(address, tuple(options["ship"]), options["max_slowdown"], options["unencrypted"])


@contextmanager
def on_cluster(
    settings: ClusterSettings | None, cwd: Path, conditions: Conditions, *, has_concurrency: bool
) -> Iterator[Conditions]:
    """The conditions with the venue that `settings` describe, which is closed at the end; unchanged without one.

    `cwd` is the directory that the paths to be shipped start from. `has_concurrency` says whether the user has limited
    the number of concurrent games. Raises MatchError, and Misuse if something cannot be shipped.
    """
    if settings is None:
        yield conditions
        return
    from spielleiter.cluster.venue import open_cluster
    from spielleiter.common.errors import SetupError

    concurrency = conditions.concurrency if has_concurrency else 0
    with ExitStack() as stack:
        try:
            venue = stack.enter_context(open_cluster(settings, cwd, lambda text: print_line(text, err=True)))
        except SetupError as error:
            raise Misuse(str(error)) from None
        yield dataclasses.replace(conditions, concurrency=concurrency, venue=venue)
