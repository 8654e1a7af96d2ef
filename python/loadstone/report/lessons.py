"""What went wrong in the original measurement and what this run shows of it: words that every format shares."""

HEADING = "What went wrong then, and what shows here"
MEANINGS = {
    "caught": "It happened here, too, and was refused or kept apart.",
    "did not happen": "It was looked for and is not there; or what was not asked then is asked and answered here.",
    "unknown": "This run cannot tell.",
}
"""What each verdict on a lesson says."""
