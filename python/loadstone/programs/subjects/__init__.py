"""Applications under test: started, or found by URL."""
