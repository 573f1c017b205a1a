"""Host-device synchronisation in loops: what is read, how hot it is, and what may be moved.

The rules `npu2xx_*` share this analysis. Everything is proved on `ast` from the text of
one module (and call sites of the others); what cannot be proved is reported, never moved.
"""
