"""The programs that play: how they are started, watched, measured and ended."""
