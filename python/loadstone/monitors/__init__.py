"""What is watched: metrics as data, and the monitors of the host and of runtimes."""
