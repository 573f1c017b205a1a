"""Checks of the simulated device, run together in one child process by test_battery.py.

Each `check_*` function holds one claim and raises when it is false. PyTorch cannot forget a
backend, so none of this may run inside the test process itself.
"""
