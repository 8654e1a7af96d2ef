"""The sentences in English: a file for each stage that has something to say."""
