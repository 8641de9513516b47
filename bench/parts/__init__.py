"""The parts of the benchmark. Each of them measures one thing."""
