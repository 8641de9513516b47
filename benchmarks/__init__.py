"""What we measure for ourselves. These modules are not in the wheel; run them from the root of the repository.

`spielleiter bench` (bench/) has what is of use to others: the server beside the bare wire, its start, and matches.
"""
