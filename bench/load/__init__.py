"""The load of the benchmark: scripted games, and the driver processes that play them."""
