"""The rules of the games. This package does no input or output, and uses no XML, no clock and no log."""
