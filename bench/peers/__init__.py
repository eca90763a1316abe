"""One module per way of calling a tool: `async cases(stack)` gives its paths by name, ready to be measured.

A path takes a workload and returns a unit. A unit starts from the JSON text that a model would emit and ends with the
text or bytes that would be sent back, so that every peer does the same work. Each module runs in an environment
that has its peer installed; what must stay open during the measurement is entered into the stack.
"""
