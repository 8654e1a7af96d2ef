"""Who watches while a run goes on."""
