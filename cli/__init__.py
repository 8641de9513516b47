"""The command line: puts the parts together and has no rules of its own."""
