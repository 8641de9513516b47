"""The number of examples that random tests try: few in an ordinary run, any number in `make fuzz`.

Invariants: an ordinary run always tries the same examples. The environment variable FUZZ_FACTOR multiplies their
number, and then they are new in each run.
"""

from __future__ import annotations

import os
from typing import Final

FACTOR: Final = int(os.environ.get("FUZZ_FACTOR", "1"))


def examples(ordinary: int) -> int:
    """Return the number of examples to try: `ordinary` in an ordinary run, otherwise multiplied by the factor."""
    return ordinary * FACTOR
