"""Components around two models: one makes vectors of tokens, the other compares two documents for a query."""
