"""Which driver, CANN, Python, torch and torch_npu belong together: versions, tables, solver, advice."""
