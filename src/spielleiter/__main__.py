"""Runs the command `spielleiter` as `python -m spielleiter`.

Invariant: nothing else is imported before `main`, which exits on Ctrl+C without a traceback.
"""

from spielleiter.cli.__main__ import main

if __name__ == "__main__":
    main()
