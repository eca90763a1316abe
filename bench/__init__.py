"""The benchmarks: one module for each. `python -m bench --help` lists the options."""
