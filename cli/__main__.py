"""`python -m spielleiter` is the command `spielleiter`, and this is where both begin.

Invariants: whoever stops the command while it is being loaded sees no traceback. So nothing is imported before `main`.
"""


def main() -> None:
    """The entry point of the installed command."""
    try:
        from spielleiter.cli.cli import main as run

        run()
    except KeyboardInterrupt:
        import os

        os._exit(130)  # at once: what has been imported in parts might fail when it is cleaned up


if __name__ == "__main__":
    main()
