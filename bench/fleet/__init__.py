"""Fleets on hosts with addresses of their own, on one machine."""
