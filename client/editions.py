"""Which wire form a client speaks for which game.

Law: the only place of this package that names concrete games. A new game or season is one entry here.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from protocol.dialect import Dialect
from protocol.dialects.blokus_2021 import BLOKUS_2021_R3

DIALECTS: Final[Mapping[str, Dialect]] = MappingProxyType({"swc_2021_blokus": BLOKUS_2021_R3})
"""By gameType; the first one is what is played unless something else is asked for."""

DEFAULT_GAME_TYPE: Final = next(iter(DIALECTS))
DEFAULT_DIALECT: Final = DIALECTS[DEFAULT_GAME_TYPE]
