"""Commands, run in this process."""

import sys
from typing import Any

from settwister.cli import main


def settwister(*arguments: Any) -> int:
    """The exit code of a command."""
    before, sys.argv = sys.argv, ["settwister", *map(str, arguments)]
    try:
        main()
    except SystemExit as end:
        return int(end.code or 0)
    finally:
        sys.argv = before
    return 0
