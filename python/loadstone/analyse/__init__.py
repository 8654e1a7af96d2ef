"""Checks, tables and answers, from the folder alone: the seventh stage."""
