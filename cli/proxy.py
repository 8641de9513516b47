"""`spielleiter proxy`: pass on everything between clients and a server, and record it."""

from __future__ import annotations

import contextlib
from pathlib import Path

import click

from spielleiter.cli.options import listening_address, target_option
from spielleiter.cli.output import print_line
from spielleiter.cli.running import run_async
from spielleiter.protocol.defaults import DEFAULT_PORT
from spielleiter.server.setting import shown_address


@click.command(
    epilog=(
        "Example: the server is at its usual port, 13050. `spielleiter proxy --trace traces` listens at port 13051. "
        "Start your player with `-p 13051`, and read the files in the folder `traces`."
    )
)
@click.option(
    "--listen",
    callback=listening_address,
    default=f"{DEFAULT_PORT + 1}",
    show_default=True,
    metavar="[HOST:]PORT",
    help="Where clients connect; a port alone is one of this machine's loopback, 0 any free one.",
)
@target_option("The server, of any kind.")
@click.option(
    "--trace",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Folder for the traces: each connection's conversation as a text file.",
)
def proxy(listen: tuple[str, int], to: tuple[str, int], trace: Path | None) -> None:
    """Pass on everything between clients and a server, byte for byte, and record it with --trace.

    Works with any client and any server, the official one included: nothing is changed or held back, and a slow reader
    slows down its sender, as without a proxy. docs/wire.md describes the files. Runs until Ctrl-C.
    """
    import trio

    from spielleiter.common.process import stop_signals
    from spielleiter.server.config import is_loopback
    from spielleiter.server.net.sockets import connections_possible
    from spielleiter.server.net.sockets import listen as open_sockets
    from spielleiter.wire.proxy import MOST_CONNECTIONS, Proxy
    from spielleiter.wire.trace_writer import Recorder

    def say(line: str) -> None:
        print_line(f"spielleiter proxy: {line}", err=True)

    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(sock) for sock in open_sockets(*listen, option="--listen")]
        recorder = None
        if trace is not None:
            recorder = Recorder(trace, lambda path, why: say(f"{path}: {why}"), option="--trace")
            stack.callback(recorder.close)
        relay = Proxy(to, recorder, say, connections_possible(2 * MOST_CONNECTIONS) // 2)

        async def main() -> None:
            async with trio.open_nursery() as nursery:
                with trio.open_signal_receiver(*stop_signals()) as signals:
                    nursery.start_soon(relay.run, sockets)
                    where = ", ".join(dict.fromkeys(shown_address(sock.getsockname()[:2]) for sock in sockets))
                    if is_loopback(to[0]) and not is_loopback(listen[0]):
                        say(
                            "for that server, clients on other machines are on this one: everybody who reaches this "
                            "proxy becomes an administrator there if the server has the well-known password; choose "
                            "another one (serve --password)"
                        )
                    print_line(f"listens on {where}, passes on to {shown_address(to)}; Ctrl-C ends it")
                    async for _ in signals:
                        break
                nursery.cancel_scope.cancel()

        run_async(main)
    print_line(f"passed on {relay.counts}")
