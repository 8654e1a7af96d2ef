"""`python -m loadstone`: the command."""

from loadstone.cli import main

main()
