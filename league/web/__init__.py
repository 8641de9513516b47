"""The pages of a league: for spectators, teams and the teacher, and the addresses that the command `upload` uses."""
