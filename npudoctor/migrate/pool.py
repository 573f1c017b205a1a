"""Work on files in child processes.

That uses every core, and a file that brings the interpreter down (nesting that overflows a
native stack) costs one finding, not the run.
"""

from __future__ import annotations

import gc
import os
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


def in_workers(
    work: Callable[[Entry, J], T],
    entries: Sequence[Entry],
    job: J,
    workers: int,
    advance: Advance,
    crashed: Callable[[Entry, str], T],
) -> dict[str, T]:
    """`work(entry, job)` of every entry, by path.

    Args:
        work: a module-level function; an exception it lets out is the result `crashed` gives.
        entries: files; the largest are started first.
        job: handed to every worker once.
        workers: number of processes.
        advance: called with the number of files each time some are done.
        crashed: result of an entry whose worker died, and the reason in a word.
    """
    done: dict[str, T] = {}
    broken: list[Entry] = []
    with _pool(job, workers) as pool:
        futures = {pool.submit(_run_chunk, work, chunk): chunk for chunk in _chunks(entries)}
        try:
            for future in as_completed(futures):
                try:
                    _collect(future.result(), crashed, done)
                    advance(len(futures[future]))
                except BrokenProcessPool:
                    broken.extend(futures[future])
        except BaseException:  # Ctrl-C: what has not begun is not begun
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    for entry in broken:
        _alone(work, entry, job, crashed, done)
        advance(1)
    return done


def _collect(
    results: list[tuple[Entry, T | None, str]], crashed: Callable[[Entry, str], T], done: dict[str, T]
) -> None:
    for entry, result, error in results:
        done[entry.path] = crashed(entry, error) if result is None else result


def _alone(
    work: Callable[[Entry, J], T],
    entry: Entry,
    job: J,
    crashed: Callable[[Entry, str], T],
    done: dict[str, T],
) -> None:
    """One entry in a process of its own, after a crash whose culprit is not known yet."""
    with _pool(job, 1) as pool:
        try:
            _collect(pool.submit(_run_chunk, work, [entry]).result(), crashed, done)
        except BrokenProcessPool:
            done[entry.path] = crashed(entry, "the process died")


def _pool(job: Any, workers: int) -> ProcessPoolExecutor:
    import multiprocessing

    # fork: the index of the project reaches the workers without being pickled for each.
    methods = multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("fork" if "fork" in methods else None)
    return ProcessPoolExecutor(workers, mp_context=context, initializer=_start, initargs=(job, os.getpid()))


def _start(job: Any, parent: int) -> None:
    _state.update(job=job, seen=0)
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
    work: Callable[[Entry, Any], T], entries: Sequence[Entry]
) -> list[tuple[Entry, T | None, str]]:
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
