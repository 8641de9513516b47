"""`python -m spielleiter` is the command `spielleiter`.

Invariant: nothing else is imported before `main`, which answers Ctrl+C without a traceback.
"""

from spielleiter.cli.__main__ import main

if __name__ == "__main__":
    main()
