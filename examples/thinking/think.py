"""Says what your program thinks about its next move, for the pages of spielleiter (docs/thinking.md)."""

import json
import sys


def think(**parts: object) -> None:
    """Write it as one line; the parts are `turn`, `value`, `text`, `numbers`, `cells` and `moves`."""
    print(json.dumps({"thinking": 1, **parts}), file=sys.stderr, flush=True)
