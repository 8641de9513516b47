"""Where a server's ids and the starts of its games are drawn from.

Invariants: an id tells nobody anything about another one, unless the operator asks for ids from the seed. The start of
a game depends on the seed and on how many games there were before, and on nothing else.
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
    """What makes ids and reservation codes; the seed counts only if `seeds_ids`."""
    if seed is None or not seeds_ids:
        return secret_id
    ids = random.Random(f"{seed} ids")
    return lambda: str(uuid.UUID(int=ids.getrandbits(128), version=4))


def secret_id() -> str:
    """An id that nobody can guess, whatever other ids they know."""
    return str(uuid.UUID(bytes=secrets.token_bytes(16), version=4))


def start_source(seed: int | None) -> NewRng:
    """What each game in turn draws its start from; without a seed it differs in every run."""
    if seed is None:
        return random.SystemRandom
    games = random.Random(f"{seed} games")
    return lambda: random.Random(games.getrandbits(64))
