"""What the user wrote: the experiment, its parts, and how both are read and checked."""
