"""The end-to-end proof, stage by stage: can this interpreter and this device train a policy?

No module here imports torch. What needs torch runs in a child of the interpreter under
test (`children/`), with a timeout, and reports as JSON lines; see docs/smoke-test.md.
"""
