"""The demo: a model that needs no key (`offline`), and tools of every mode to try it with (`tools`).

It uses the public API only. `Runtime(model="offline")` is the only place in the core that names it.
"""
