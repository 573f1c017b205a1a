"""Programs that run inside the interpreter under test. Standard library and torch only; Python 3.8+.

`boot.py` starts them. They import nothing of npudoctor but this package and, where a run
is simulated, `npudoctor.simulate`.
"""
