"""`python -m workers.celery_command`: celery without its interactive shell.

The shell's libraries take 10 MB of each worker and of beat.
"""

import sys
from types import ModuleType

from celery.__main__ import main

if __name__ == "__main__":
    shell = ModuleType("click_repl")
    shell.register_repl = lambda *_: None  # type: ignore[attr-defined]
    sys.modules[shell.__name__] = shell
    main()
