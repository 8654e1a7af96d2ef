"""Which commands may be sent to a Redis that is not ours."""
