"""Command line: `python -m workers.metrics GOLD PREDICTIONS --task …`."""

from __future__ import annotations

import sys

from workers.cli.command import main

if __name__ == "__main__":
    sys.exit(main())
