"""loadstone beside other load generators: what `make bench` runs."""
