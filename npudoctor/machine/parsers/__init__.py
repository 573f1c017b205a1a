"""Pure functions from text to facts; none of them raises on any text."""
