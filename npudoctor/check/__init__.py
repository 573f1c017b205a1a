"""The environment doctor: pure checks over the facts of a machine, ordered by cause."""
