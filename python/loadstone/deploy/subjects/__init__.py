"""Applications under test: built, started, found by URL."""
