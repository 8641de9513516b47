"""A league for a class: uploads of programs by teams, games all day, tables and pages, kept in one database.

`database` keeps everything, and the modules of functions on it say what may happen to teams, versions and games.
`director` decides what is played next, `arena` is the process that plays it, `gate` the one for helpers' PCs, `web` the
pages.
"""
