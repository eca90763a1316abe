"""The benchmark: one module per question. `python -m bench --help` lists the options."""
