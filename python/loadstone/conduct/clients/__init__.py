"""Drivers that are client libraries' programs: checked, built, and at hand for the trials that name them."""
