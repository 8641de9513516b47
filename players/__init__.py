"""What chooses moves: the built-in strategies, the levels of each game, and what a Blokus engine is asked.

Functions of positions, without a connection or an event loop: a match's workers, which load them, start in half of the
time and the memory that the clients need.
"""
