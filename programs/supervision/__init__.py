"""The processes that start programs and supervise them: one supervisor for each running program. Linux only.

`programs/fork_server_client.py` starts the fork server of this package and talks to it. The fork server forks the
supervisors, and each supervisor starts a program and watches it to its end.

Invariants: the modules of this package import the standard library and each other, nothing else of the project, so that
the fork server starts quickly and forking it is cheap. That is why their imports are relative: the fork server imports
this folder as the top-level package `supervision`.
"""
