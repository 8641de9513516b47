"""`spielleiter replay-wire`: send the clients' side of a recorded conversation again, and compare the answers."""

from __future__ import annotations

from pathlib import Path

import click

from spielleiter.cli.options import TEXT, Number, WholeNumber, target_option
from spielleiter.cli.output import print_line
from spielleiter.cli.running import EXIT_FAILURE, EXIT_MACHINE, Misuse, run_until_stopped
from spielleiter.common.text import count_text
from spielleiter.protocol.defaults import DEFAULT_PASSWORD
from spielleiter.server.setting import MAX_SECONDS, shown_address


@click.command(
    "replay-wire",
    epilog=(
        "Exit code: 0 all answers are equal, 1 some differ, 2 nothing could be compared, 4 what was compared is equal, "
        "but the recording lacks something. Treated as equal: white space between elements, ids of rooms and "
        "reservations (a new id is put into the packets that are sent), passwords."
    ),
)
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path, dir_okay=False))
@target_option("The server.")
@click.option(
    "--timeout",
    type=Number(0, MAX_SECONDS, min_open=True),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait for an answer, in addition to the recorded time, and until the server takes a packet.",
)
@click.option(
    "--password",
    type=TEXT,
    default=DEFAULT_PASSWORD,
    show_default=True,
    metavar="PASSWORD",
    help="What to send in place of a password that is blacked out.",
)
@click.option("--keep-times", is_flag=True, help="Pause before each packet as long as the client did.")
@click.option(
    "--show",
    type=WholeNumber(0),
    default=5,
    show_default=True,
    metavar="N",
    help="The number of differences to show.",
)
def replay_wire(
    files: tuple[Path, ...], to: tuple[str, int], timeout: float, password: str, show: int, *, keep_times: bool
) -> None:
    """Send what the clients sent in FILE again, to any server, and say where its answers differ.

    FILE is a trace of `spielleiter serve --trace` or `spielleiter proxy --trace`, or a transcript with the same
    columns; it may be compressed with gzip. A game needs the files of both players, and that of the administrator if
    one prepared it: their packets are sent in the recorded order, each after all answers that came before it.
    """
    from spielleiter.wire.comparison import TREATED_AS_EQUAL
    from spielleiter.wire.replayer import Replayer
    from spielleiter.wire.trace_reader import read_recordings

    recording = read_recordings(list(files))
    replayer = Replayer(recording, to, timeout=timeout, password=password, keeps_times=keep_times)
    report = run_until_stopped(replayer.run)
    for difference in report.differences[:show]:
        print_line(f"{difference.where}: {difference.what}")
        for line in difference.lines:
            print_line(f"    {line}")
    for note in report.notes:
        print_line(f"note: {note}")
    for gap in report.gaps:
        print_line(f"incomplete: {gap}")
    count = len(report.differences)
    compared = f"{count_text(report.compared, 'answer')} of {shown_address(to)} compared"
    if report.not_compared:
        compared += f", {count_text(report.not_compared, 'recorded answer')} not"
    equal = "all that were compared are equal" if report.not_compared or report.gaps else "all are equal"
    print_line(f"{compared}: {f'{count} differ' if count else equal}")
    print_line(f"treated as equal: {TREATED_AS_EQUAL} ({report.ids} here)")
    if count:
        raise click.exceptions.Exit(EXIT_FAILURE)
    if not report.compared:
        raise Misuse("the recording has no answer that could be compared")
    if report.gaps:
        raise click.exceptions.Exit(EXIT_MACHINE)
