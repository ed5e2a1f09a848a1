"""``python -m settwister``."""

from settwister.cli import main

main()
