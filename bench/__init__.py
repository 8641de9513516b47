"""Benchmarks of the server, the rules, the protocol and matches, compared with the bare wire where that is possible."""
