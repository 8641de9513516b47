"""The first module of the one-folder build: runs the command, or takes the place of the interpreter.

As in the installed command, Ctrl-C while the program is being loaded shows no traceback.
"""

import sys

from spielleiter.cli.__main__ import main
from spielleiter.common.own_python import RUN_PYTHON, run_as_python

if sys.argv[1:2] == [RUN_PYTHON]:
    run_as_python(sys.argv[2:])
else:
    main()
