"""Matches between programs: plan of games, processes, verdicts, statistics, reports."""
