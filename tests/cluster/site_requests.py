"""Requests to a site, as the process that started the match would send them."""

from __future__ import annotations

from typing import Any

from spielleiter.cluster.messages import PlayPair, Prepare
from spielleiter.cluster.shipment import setup_to_send
from spielleiter.match import prepare_match
from tests.timeouts import HANG_TIMEOUT


def prepare_request(first: str = "builtin:first", **changes: Any) -> Prepare:
    setup = prepare_match(
        first,
        "builtin:random",
        games=4,
        seed=1,
        soft_timeout=HANG_TIMEOUT,
        hard_timeout=HANG_TIMEOUT,
        is_played_elsewhere=True,
    )
    values: dict[str, Any] = {
        "setup": setup_to_send(setup, ()).to_json(),
        "slots": 1,
        "cores_per_game": None,
        "is_pinned": False,
        "first_core": 0,
        "keep": "all",
        "is_restarting": True,
    }
    return Prepare(**{**values, **changes})


def pair_request(pair: int = 1, **changes: Any) -> PlayPair:
    values: dict[str, Any] = {"seed": 5, "games": ((2 * pair - 1, (0, 1)), (2 * pair, (1, 0)))}
    return PlayPair(key=f"key {pair}", pair=pair, **{**values, **changes})
