"""The statistics of a match: points, Elo with intervals, sequential tests, ratings."""
