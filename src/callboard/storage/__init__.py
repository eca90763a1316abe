"""Storage: rows, the ports of a store, and the writer that groups the changes of many sessions."""
