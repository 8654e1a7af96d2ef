"""What this machine has of all that a run may need: `loadstone doctor`."""
