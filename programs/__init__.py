"""The programs that play: how they are started, supervised, measured and ended."""
