"""The load of the benchmark: scripted games, and the processes that play them."""
