"""Known symptoms: rows of data, a streamed matcher, and the order in which answers are given."""
