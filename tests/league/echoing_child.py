"""A child process for the tests: it sends every message back, and does what some of them ask for."""

from __future__ import annotations

import os
import sys

import msgspec

from spielleiter.league.child_process import open_parent, run_child


class Said(msgspec.Struct, frozen=True, tag=True):
    """A message in either direction."""

    text: str
    number: int = 0


decode = msgspec.msgpack.Decoder(Said).decode


async def main() -> None:
    """Answer until the parent has ended."""
    async with open_parent(decode) as parent:
        async for message in parent:
            match message.text:
                case "exit":
                    await parent.send(Said("last", message.number))
                    return
                case "crash":
                    os._exit(message.number)
                case "print":
                    print("this goes to standard error")  # noqa: T201
                case "garbage":
                    os.write(int(sys.argv[1]), b"\xff" * 1000)
                case _:
                    await parent.send(message)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        os.dup2(1, int(sys.argv[1]))
    run_child(main)
