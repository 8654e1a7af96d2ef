"""Where a system saturates and what limits it, against systems whose truth is known."""
