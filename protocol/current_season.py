"""The current season, which clients and servers play unless another one is chosen.

The other seasons are entries in `server/editions.py`; a client that plays one of them gets its dialect as an argument.
"""

from __future__ import annotations

from typing import Final

from spielleiter.protocol.dialect import Dialect
from spielleiter.protocol.dialects.blokus_2027 import BLOKUS_2027

DEFAULT_GAME_TYPE: Final = "swc_2027_blokus"
"""The gameType of a join that names none."""

DEFAULT_DIALECT: Final[Dialect] = BLOKUS_2027
"""The wire form that clients use by default: the dialect of the first edition of `DEFAULT_GAME_TYPE`."""
