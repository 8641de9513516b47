"""A process that accepts connections and discards everything it receives.

Run it as `python -m spielleiter.bench.sink`. It writes its port to standard output and runs until it is killed.

Hostile clients use processor time themselves. The same clients connected to a sink show how that alone affects the
latencies of a server on the same machine.
"""

from __future__ import annotations

import selectors
import socket

RECEIVE_BYTES = 65536


def main() -> None:
    """Accept connections and discard what arrives until the process is killed."""
    selector = selectors.DefaultSelector()
    listening = socket.create_server(("127.0.0.1", 0), backlog=1024)
    listening.setblocking(False)
    selector.register(listening, selectors.EVENT_READ)
    print(listening.getsockname()[1], flush=True)
    while True:
        for key, _ in selector.select():
            sock = key.fileobj
            assert isinstance(sock, socket.socket)
            try:
                if sock is listening:
                    accepted, _ = sock.accept()
                    accepted.setblocking(False)
                    selector.register(accepted, selectors.EVENT_READ)
                    continue
                if sock.recv(RECEIVE_BYTES):
                    continue
            except BlockingIOError:
                continue
            except OSError:
                pass
            if sock is not listening:
                selector.unregister(sock)
                sock.close()


if __name__ == "__main__":
    main()
