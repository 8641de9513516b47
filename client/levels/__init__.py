"""The ladders of built-in players: `level-1`, `level-2` and so on, each stronger than the one before it.

`level.py` has the record of a level, `ladders.py` the levels of each game. The modules of a game begin with its name:
its evaluation, its search, and the table of its levels.

Invariants: a level's moves depend only on the position and the generator that it is given, unless a search is cut
short by the clock (`blokus_search.py`). No module here loads trio: processes that only compute moves use them.
"""
