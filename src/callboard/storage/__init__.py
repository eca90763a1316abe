"""What is kept: the rows, the port of a store, and the writer that groups what many sessions write."""
