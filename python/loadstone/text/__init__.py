"""What people read: languages, sentences, figures as text, and units."""
