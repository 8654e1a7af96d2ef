"""What the engine and the parts beside it cost, and how exact its times are."""
