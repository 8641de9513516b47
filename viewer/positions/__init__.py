"""What a position looks like, as plain JSON data for the page, the terminal, pictures and files.

`describe.py` has the functions that the rest of the viewer uses. Each game has one module, and its entry in the table
there; the positions of a game without one are shown as a table of fields.
"""
