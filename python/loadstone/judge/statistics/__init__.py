"""The judge: what a comparison may claim. Pure functions on numbers, no files and no clocks.

Ratios are natural logarithms throughout, d = ln(B / A), until `wording` prints them as per cent.
"""
