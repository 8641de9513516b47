"""The parts of the benchmark, each of which measures one thing."""
