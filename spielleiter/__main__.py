"""`python -m spielleiter` is the command `spielleiter`."""

from spielleiter.cli import main

if __name__ == "__main__":
    main()
