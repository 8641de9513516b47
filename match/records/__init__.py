"""The files of a match: its journal with a record of each game, and the log files of games."""
