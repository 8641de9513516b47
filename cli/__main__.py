"""The entry point of the command `spielleiter` and of `python -m spielleiter`.

Nothing is imported before `main`, so that Ctrl-C while the command is being loaded, or while it exits, shows no
traceback. What Python itself does before that, about 40 ms, is out of reach.
"""


def main() -> None:
    """Run the command and exit."""
    try:
        from spielleiter.cli.ctrl_c import end_on_ctrl_c

        end_on_ctrl_c()
        from spielleiter.cli.cli import main as run

        try:
            run()
        finally:
            end_on_ctrl_c()
    except KeyboardInterrupt:
        import os

        os._exit(130)  # immediately, since the clean-up of partly imported modules may fail


if __name__ == "__main__":
    main()
