"""What the user wrote: the first stage."""
