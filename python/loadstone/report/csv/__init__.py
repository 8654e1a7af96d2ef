"""The report for spreadsheets."""
