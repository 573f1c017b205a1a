"""Run the programs named on standard input, one JSON line each, in this one process.

A line is `{"module": "hello", "args": ["cpu"], "limit_s": 60}`; after it a `finished`
event carries the exit code. A program that fails ends the process.
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import sys

from npudoctor.smoke_test.children.common import emit, guarded


def main() -> int:
    for line in sys.stdin:
        job = json.loads(line)
        program = importlib.import_module(f"npudoctor.smoke_test.children.{job['module']}")
        if job["limit_s"] > 2:
            # Say where it hangs, on stderr, shortly before the parent ends it.
            faulthandler.dump_traceback_later(job["limit_s"] - 1.0)
        code = guarded(program.job, job["args"])
        faulthandler.cancel_dump_traceback_later()
        sys.stderr.flush()
        emit("finished", code=code)
        if code:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
