"""Why is it slow: read or record a trace, find where the device waits and for what.

Needs numpy and ijson (extra `profile`); modules that use them are imported by the
command only when it runs.
"""
