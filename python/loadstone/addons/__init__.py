"""What stands on the core by its seam (`addon.py`), and what the core never imports."""

NAMES = ("studies", "history", "capacity", "pages", "saturation", "gate", "fleet", "driver_contract", "upgrade")
"""The add-ons of this package, in the order in which the core takes what they bring. Any of them may be missing."""
