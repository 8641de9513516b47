"""Runs the command `spielleiter` as `python -m spielleiter`.

Invariants: nothing else is imported before `main`, which ends without a traceback on Ctrl+C.
"""

from spielleiter.cli.__main__ import main

if __name__ == "__main__":
    main()
