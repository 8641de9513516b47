"""Playing with engines that speak GTP, the Go Text Protocol, version 2: for `spielleiter play --strategy gtp`.

- `protocol`: commands and responses as bytes.
- `notation`: cells as such engines write them, and the symmetries of the board.
- `blokus_bridge`: positions and moves of the contest in terms of an engine for Blokus.
- `engine_process`: the engine's process.
- `bridged_player`: the player that asks the engine, and what it does if the engine has no move.

Invariants: only `engine_process` reads and writes; `protocol`, `notation` and `blokus_bridge` are pure.
"""

from __future__ import annotations
