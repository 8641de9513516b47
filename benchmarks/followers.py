"""Follow a server: a process that reads its feed on several connections, and makes nothing of it.

Run this file with the arguments PORT COUNT. A line is written when all have been told the present state; the process
ends with its input.
"""

from __future__ import annotations

import selectors
import socket
import sys
from typing import Final

HOST: Final = "127.0.0.1"
TIMEOUT: Final = 20.0
READ_SIZE: Final = 1 << 18
FOLLOW: Final = b'<protocol><authenticate password="examplepassword"/><feed/>'
CURRENT: Final = b'{"event":"current"}'


def main(port: int, count: int) -> None:
    with selectors.DefaultSelector() as selector:
        for _ in range(count):
            sock = socket.create_connection((HOST, port), TIMEOUT)
            sock.sendall(FOLLOW)
            received = b""
            while CURRENT not in received:
                data = sock.recv(READ_SIZE)
                if not data:
                    raise ConnectionError(f"the server ended the connection: {received[-400:]!r}")
                received = received[-len(CURRENT) :] + data
            selector.register(sock, selectors.EVENT_READ, sock)
        selector.register(sys.stdin, selectors.EVENT_READ)
        print("following", flush=True)
        while True:
            for key, _ in selector.select():
                if key.data is None or not key.data.recv(READ_SIZE):
                    return


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
