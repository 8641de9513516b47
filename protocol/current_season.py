"""The season that is played where nobody names one, for clients and servers alike.

Invariants: this is the only definition of the current season. Other seasons are entries in `server/editions.py`, and a
client that plays one of them is handed its dialect.
"""

from __future__ import annotations

from typing import Final

from spielleiter.protocol.dialect import Dialect
from spielleiter.protocol.dialects.blokus_2027 import BLOKUS_2027

DEFAULT_GAME_TYPE: Final = "swc_2027_blokus"
"""The gameType of a join that names none."""

DEFAULT_DIALECT: Final[Dialect] = BLOKUS_2027
"""What clients speak unless they are told otherwise: the dialect of the first edition of `DEFAULT_GAME_TYPE`."""
