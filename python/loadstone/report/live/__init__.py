"""Who watches while a run goes on: the terminal, the file of events and Prometheus."""
