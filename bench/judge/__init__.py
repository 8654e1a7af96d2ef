"""How often the judge is wrong where the truth is known: simulated, replayed and live."""
