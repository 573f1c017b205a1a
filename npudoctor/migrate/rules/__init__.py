"""One migration rule per module (`npu1xx_<slug>`, `npu2xx_<slug>`), found by walking this package.

A rule module exposes `RULE` and imports nothing of npudoctor but `npudoctor.migrate.api`
and `npudoctor.tables`. Its page and its tests are `fixtures/rules/NPU1xx_<slug>.md`.
"""
