"""The viewer: live games, replays and a seat at the board, in the browser, in the terminal and as files."""
