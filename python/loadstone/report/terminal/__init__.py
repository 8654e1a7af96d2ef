"""What a terminal shows of a run: before it, and of its outcome."""
