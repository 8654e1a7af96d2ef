"""`python -m loadstone`: the command."""

from loadstone.cli.main import main

if __name__ == "__main__":
    main()
