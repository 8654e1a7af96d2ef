"""What a comparison in rounds of slices may claim. Pure functions on numbers, no files and no clocks.

A round is each condition once for one slice, in fresh random order. The pair of slices in a round is the unit of
replication: the order makes its sign a fair coin, whatever the machine does, as long as nothing carries over from one
slice into the next. Ratios are natural logarithms, d = ln(B / A).
"""
