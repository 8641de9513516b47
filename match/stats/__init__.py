"""The statistics of matches: points, Elo with intervals, sequential tests, ratings."""
