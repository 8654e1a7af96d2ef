"""How long installing, lists and pages take."""
