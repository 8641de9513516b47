"""How hard the tests that try random things try: a little in every run, as much as wanted in `make fuzz`.

Law: in an ordinary run the examples are always the same; with FUZZ_FACTOR set there are so many times more of them, and
they are new each time.
"""

from __future__ import annotations

import os
from typing import Final

FACTOR: Final = int(os.environ.get("FUZZ_FACTOR", "1"))


def examples(ordinary: int) -> int:
    """So many examples, times the factor."""
    return ordinary * FACTOR
