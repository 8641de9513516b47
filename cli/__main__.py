"""The entry point of the command `spielleiter` and of `python -m spielleiter`.

Invariants: Ctrl-C while the command is being loaded shows no traceback. Therefore nothing is imported before `main`.
"""


def main() -> None:
    """Run the command and exit."""
    try:
        from spielleiter.cli.cli import main as run

        run()
    except KeyboardInterrupt:
        import os

        os._exit(130)  # immediately, since the clean-up of partly imported modules may fail


if __name__ == "__main__":
    main()
