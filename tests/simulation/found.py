"""What days found: the seed as it was then, and what it was. What is mended moves the moments of a seed: the days are
played again for what they are now, and each defect has a test of its own beside what was mended."""

FOUND = {
    20: "a folder stayed locked within the process where its opening by --resume was ended by no error of loadstone",
    33: "a power cut took the run's folder, or its trials.jsonl, away: their names had never been synced",
    38: "a disk that failed while a folder was made ended the command with an untyped error (EIO of a clean-up)",
    54: "a trial that could not be driven, and was tried again by --resume, had two records of one attempt",
    150: "a power cut took the ledger away with the run's folder: keys on the user's server that nothing named",
}
