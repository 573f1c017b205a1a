"""The codemod: from CUDA to NPU, and host-device syncs out of loops.

`migrate_source(text, path, settings, project)` is the whole engine for one Python
module: text in, text and findings out. Nothing in this package but `walk`/`writer`
touches the file system, and nothing imports torch.
"""
