"""The rules of the games. Nothing in here does input or output, reads XML or a clock, or writes a log."""
