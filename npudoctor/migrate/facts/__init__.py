"""What one module tells the others: one `FACT` per module of this package, found by walking it.

A fact is computed from the `ModuleContext` of every file that could matter, before any
rule runs, and must be small, frozen and picklable. Rules read all of them through
`ctx.project.facts("<name>")`.
"""
