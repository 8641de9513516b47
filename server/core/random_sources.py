"""The random sources for a server's ids and for the starting positions of its games.

Invariants: ids cannot be predicted from other ids, unless the operator asks for ids from the seed. The starting
position of a game depends only on the seed and on the number of games before it.
"""

from __future__ import annotations

import random
import secrets
import uuid
from collections.abc import Callable
from typing import TypeAlias

NewId: TypeAlias = Callable[[], str]
NewRng: TypeAlias = Callable[[], random.Random]


def id_source(seed: int | None, *, seeds_ids: bool) -> NewId:
    """Return the function that creates ids and reservation codes; it uses the seed only if `seeds_ids`."""
    if seed is None or not seeds_ids:
        return secret_id
    ids = random.Random(f"{seed} ids")
    return lambda: str(uuid.UUID(int=ids.getrandbits(128), version=4))


def secret_id() -> str:
    """Return an id that cannot be guessed, not even from other ids."""
    return str(uuid.UUID(bytes=secrets.token_bytes(16), version=4))


def start_source(seed: int | None) -> NewRng:
    """Return the function that creates a generator for each game; without a seed, every run is different."""
    if seed is None:
        return random.SystemRandom
    games = random.Random(f"{seed} games")
    return lambda: random.Random(games.getrandbits(64))
