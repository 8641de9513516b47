"""What a client plays and speaks unless it is told otherwise: the season that runs.

Law: nothing else in this package knows a concrete wire form; whoever wants another season's hands its dialect in. Which
ones there are is known to the server alone.
"""

from __future__ import annotations

from typing import Final

from spielleiter.protocol.dialect import Dialect
from spielleiter.protocol.dialects.blokus_2027 import BLOKUS_2027

DEFAULT_GAME_TYPE: Final = "swc_2027_blokus"
DEFAULT_DIALECT: Final[Dialect] = BLOKUS_2027
