"""The search for the load at which a server is saturated, closed and open."""
