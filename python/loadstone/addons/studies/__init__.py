"""What a study says beside its tables: conclusions, claims and lessons."""
