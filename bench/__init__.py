"""The benchmark: one module per question. `python -m bench --help` says how to ask them."""
