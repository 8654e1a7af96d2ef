"""Client libraries' programs: built, started, and ended with everything that they started."""
