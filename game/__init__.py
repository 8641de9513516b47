"""The rules of the games, and nothing else: no input or output, no XML, no clock, no logging."""
