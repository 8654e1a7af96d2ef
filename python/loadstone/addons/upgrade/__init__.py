"""May I upgrade? The same recorded commands on two servers, reply by reply."""
