"""Running a program under the contest's conditions: no network, one core, limited memory, a name for the server.

`choose_sandbox` (choice.py) returns the best `Sandbox` (sandbox.py) that this machine has. `open_run` (sandbox_run.py)
runs one program in it. A match does both for an entrant that has `SandboxSettings`.
"""
