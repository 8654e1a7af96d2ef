"""The verdict on a change for CI: its experiment, its rule, its outcome and its files."""
