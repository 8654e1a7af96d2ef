"""Containers of ours, by Docker or Podman."""
