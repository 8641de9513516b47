"""What we test for hours: the soak test, and planted bugs. Not in the wheel; run it from the root of the repository.

`spielleiter bench` (bench/) has what is of use to others: the server beside the bare wire, its start, and matches.
"""
