"""Where conditions saturate, measured: which step comes next, and carried out."""
