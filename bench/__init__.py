"""Measurements of loadstone itself: a folder a question. `README.md` says what each program proves."""
