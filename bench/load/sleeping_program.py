"""A scripted program (bench/load/scripted_program.py) that sleeps before it takes its seat.

Run it as ``python -I -S sleeping_program.py SECONDS SCRIPT -h HOST -p PORT -r CODE``. A game of two of these programs
takes SECONDS and hardly any processor time, so that one machine can simulate many.
"""

from __future__ import annotations

import os
import sys
import time

if __name__ == "__main__":
    sys.path.append(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 - as little as possible is loaded
    from scripted_program import play  # type: ignore[import-not-found]

    time.sleep(float(sys.argv[1]))
    play(sys.argv[2], sys.argv[4], int(sys.argv[6]), sys.argv[8])
