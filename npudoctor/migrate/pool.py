"""Work on files in child processes.

That uses every core, and a file that brings the interpreter down (nesting that overflows a
native stack) costs one finding, not the run.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import pickle
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from npudoctor.migrate.walk import Entry

Advance = Callable[[int], None]
J = TypeVar("J")
T = TypeVar("T")
# Small enough that both cores stay busy to the end, large enough that hand-over is cheap.
CHUNK_BYTES = 96 << 10
CHUNK_FILES = 24
COLLECT_BYTES = 1 << 20  # source read by a worker between two collections: about 100 MB of trees

_state: dict[str, Any] = {}


class Workers:
    """Child processes that stay for several passes: what one leaves in its memory, the next may use.

    Use it in a `with` statement; when that ends by an exception (Ctrl-C), the processes are ended
    at once, whatever they are doing.

    Args:
        count: number of processes.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._pool: ProcessPoolExecutor | None = None
        self._others = set(multiprocessing.active_children())

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None and self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            for child in set(multiprocessing.active_children()) - self._others:
                child.kill()  # a file of a hundred thousand lines would keep it for seconds
        self._close()

    def run(
        self,
        work: Callable[[Entry, J], T],
        entries: Sequence[Entry],
        job: J,
        advance: Advance,
        crashed: Callable[[Entry, str], T],
    ) -> dict[str, T]:
        """`work(entry, job)` of every entry, by path.

        Args:
            work: a module-level function; an exception it lets out is the result `crashed` gives.
            entries: files; the largest are started first.
            job: what every call is given; it is pickled once.
            advance: called with the number of files each time some are done.
            crashed: result of an entry whose worker died, and the reason in a word.
        """
        done: dict[str, T] = {}
        broken: list[Entry] = []
        data = pickle.dumps(job, pickle.HIGHEST_PROTOCOL)
        self._pool = self._pool or _pool(self._count)
        futures = {self._pool.submit(_run_chunk, work, chunk, data): chunk for chunk in _chunks(entries)}
        for future in as_completed(futures):
            try:
                _collect(future.result(), crashed, done)
                advance(len(futures[future]))
            except BrokenProcessPool:
                broken.extend(futures[future])
        if broken:
            self._pool = None  # of no more use
            for entry in broken:
                self._alone(work, entry, data, crashed, done)
                advance(1)
            self._close()
        return done

    def _alone(
        self,
        work: Callable[[Entry, J], T],
        entry: Entry,
        data: bytes,
        crashed: Callable[[Entry, str], T],
        done: dict[str, T],
    ) -> None:
        """One entry at a time, after a crash whose culprit is not known yet."""
        self._pool = self._pool or _pool(1)
        try:
            _collect(self._pool.submit(_run_chunk, work, [entry], data).result(), crashed, done)
        except BrokenProcessPool:
            self._pool = None
            done[entry.path] = crashed(entry, "the process died")

    def _close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None


def _collect(
    results: list[tuple[Entry, T | None, str]], crashed: Callable[[Entry, str], T], done: dict[str, T]
) -> None:
    for entry, result, error in results:
        done[entry.path] = crashed(entry, error) if result is None else result


def _pool(workers: int) -> ProcessPoolExecutor:
    # fork: what the parent has imported and cached is there at once.
    methods = multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("fork" if "fork" in methods else None)
    return ProcessPoolExecutor(workers, mp_context=context, initializer=_start, initargs=(os.getpid(),))


def _start(parent: int) -> None:
    _state.update(data=b"", job=None, seen=0)
    warnings.simplefilter("ignore")  # what the parser thinks of the user's literals is not our topic
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears Ctrl-C and ends the pool
    threading.Thread(target=_follow, args=(parent,), daemon=True).start()
    gc.disable()  # syntax trees hold few cycles: to collect now and then is enough,
    gc.freeze()  # and that need not look at what was there before the fork


def _follow(parent: int) -> None:
    """End with the parent: a worker whose parent was killed would wait for work for ever."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def _run_chunk(
    work: Callable[[Entry, Any], T], entries: Sequence[Entry], data: bytes
) -> list[tuple[Entry, T | None, str]]:
    if _state["data"] != data:
        _state.update(data=data, job=pickle.loads(data))
    done: list[tuple[Entry, T | None, str]] = []
    for entry in entries:
        try:
            done.append((entry, work(entry, _state["job"]), ""))
        except Exception as error:  # a fault of ours in one file must not stop the others
            done.append((entry, None, f"{type(error).__name__}: {error}"))
    _state["seen"] += sum(entry.size for entry in entries)
    if _state["seen"] > COLLECT_BYTES:
        _state["seen"] = 0
        gc.collect()
    return done


def _chunks(entries: Sequence[Entry]) -> Iterator[list[Entry]]:
    chunk: list[Entry] = []
    size = 0
    for entry in sorted(entries, key=lambda e: -e.size):
        chunk.append(entry)
        size += entry.size
        if size >= CHUNK_BYTES or len(chunk) >= CHUNK_FILES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk
