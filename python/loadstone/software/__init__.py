"""A room for each software that loadstone knows; outside it is reached by `registry` alone."""
