"""The sentences in English: a file for each part that has something to say."""
