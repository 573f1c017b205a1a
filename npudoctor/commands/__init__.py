"""One module per command, found by walking this package; each exposes `COMMAND`.

A command module parses options, calls an engine and hands the report to a renderer.
It imports its engine inside the function, so that `npudoctor check` never pays for
(or trips over) what only `migrate` needs.
"""
