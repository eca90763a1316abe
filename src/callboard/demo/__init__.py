"""The demo: a model that needs no key (`offline`), and tools of every mode to try it with (`tools`).

It stands on the public face, above the core, which does not know it: only `Runtime(model="offline")` names it.
"""
