"""What a position looks like, as plain JSON data for the page, the terminal, pictures and files.

`describe.py` has the functions that the rest of the viewer uses, `view.py` what a game adds to them; its own view is in
`viewer/games/`. The positions of a game without one are shown as a table of fields.
"""
