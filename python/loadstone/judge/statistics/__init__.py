"""What a comparison may claim. Pure functions on numbers, no files and no clocks.

Ratios are natural logarithms throughout, d = ln(B / A), until a report prints them as per cent.
"""
