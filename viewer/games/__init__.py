"""How each game is shown: one folder for each, with the name of the package of its rules.

- `view.py`: positions, moves and mistakes as JSON, as `VIEW`.
- `board.js`, `board.css`: how the page draws that; the texts in both languages.
- `picture.py`: how a picture shows it, as `DRAWING`.
- `terminal.py`: how a terminal shows a position, as `DRAWING`.

Everything is found by its name, when the game is shown for the first time. What is not there is shown as a table.
"""
