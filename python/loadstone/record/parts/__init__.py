"""What a record says of servers, applications and the machine: their kinds, figures, settings."""
