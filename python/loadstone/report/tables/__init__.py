"""Tables: their columns and figures, the same in every format."""
