"""Traces: the conversation of each connection as a text file for people, which `replay-wire` can send again."""
