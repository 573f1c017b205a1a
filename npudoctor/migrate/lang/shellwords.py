"""Split shell text into commands and words that know where each character stands.

Enough of POSIX shell to be right about where a word begins and ends; nothing is executed
and nothing is expanded. Text that cannot be split (an open quote) ends the reading: what
came before counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from npudoctor.migrate.view import Command, Requirement, Setting, View, Word

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\+?=")
_KEYWORDS = frozenset(
    ("if", "then", "elif", "else", "fi", "do", "done", "while", "until", "!", "time", "{", "}", "case",
     "esac", "in", "exec")
)
_DECLARING = frozenset({"export", "env", "local", "declare", "readonly"})
_HEREDOC = re.compile(r"<<-?\s*(['\"\\]?)([A-Za-z_][A-Za-z0-9_]*)\1")
_DIRECTIVE = re.compile(r"#(SBATCH|PBS|BSUB|\$)\s")
_INSTALLERS = re.compile(r"^(pip3?|uv|conda|mamba|micromamba|poetry|pdm|pipenv)$")
_REQUIREMENT = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*?)(\[[^\]]*\])?\s*([=<>!~@].*)?$")
_ENV_NAME = re.compile(r"([A-Z][A-Z0-9_]{2,})=")
_PASSED_ON = frozenset({"export", "unset", "-e", "--env"})


def read_commands(view: View, start: int, end: int) -> None:
    """Add the commands in `view.text[start:end]`, and what they say, to `view`."""
    pending = [_Lexer(view.text, start, end)]
    # Each level of $(...) is read again as commands; no script nests so deeply that this runs out.
    budget = 16 * (end - start) + 10_000
    while pending:
        current = pending.pop()
        budget -= current.end - current.i
        if budget < 0:
            break
        current.run()
        for words in current.commands:
            add_command(view, words)
        view.mentions.extend(current.mentions)
        view.settings.extend(current.defaults)
        pending.extend(_Lexer(view.text, *span) for span in current.nested)


def add_command(view: View, words: Iterable[Word]) -> None:
    """Add one command, the variables it sets and the packages it installs, to `view`."""
    rest = list(words)
    while rest and rest[0].text in _KEYWORDS:
        rest.pop(0)
    leading = True
    previous = ""
    for word in rest:
        match = _ASSIGNMENT.match(word.text) if leading else _ENV_NAME.match(word.text)
        if match:
            setting = Setting(word.part(0, match.end(1)), word.part(match.end()), (), True)
            view.settings.append(setting)
        elif previous in _PASSED_ON and _NAME.fullmatch(word.text):
            view.mentions.append(word)
        leading = leading and (match is not None or word.text in _DECLARING)
        previous = word.text
    if rest:
        view.commands.append(Command(tuple(rest)))
        _installs(view, rest)


def requirement_of(word: Word) -> Requirement | None:
    """The package that a word such as `torch==2.1.0+cu118` or `flash_attn` asks for."""
    text = word.text.split(";")[0].rstrip()
    match = _REQUIREMENT.match(text)
    if match is None:
        return None
    word = word.part(0, len(text))
    name = re.sub(r"[-_.]+", "-", match.group(1)).lower()
    return Requirement(name, (match.group(3) or "").strip(), word)


def _installs(view: View, words: list[Word]) -> None:
    texts = [word.text for word in words]
    verb = next((i for i, text in enumerate(texts) if text in ("install", "add") and i > 0), None)
    if verb is None or not any(_INSTALLERS.match(text.rsplit("/", 1)[-1]) for text in texts[:verb]):
        return
    takes_value = False
    for word in words[verb + 1 :]:
        if word.text.startswith("-"):
            takes_value = "=" not in word.text and word.text in _OPTIONS_WITH_VALUE
        elif takes_value:
            takes_value = False
        elif not re.search(r"[/\\]|^\.$|\$", word.text) and (found := requirement_of(word)):
            view.requirements.append(found)


_OPTIONS_WITH_VALUE = frozenset(
    ("-r", "-c", "-i", "-f", "-t", "-n", "-p", "--requirement", "--constraint", "--index-url",
     "--extra-index-url", "--find-links", "--target", "--channel", "--name", "--prefix", "--index",
     "--group", "--python", "-E", "--extras", "--extra", "--with", "--without", "--only")
)


class _Lexer:
    """One pass over a stretch of shell text."""

    def __init__(self, text: str, start: int, end: int) -> None:
        self.text, self.i, self.end = text, start, end
        self.commands: list[list[Word]] = []
        self.mentions: list[Word] = []
        self.defaults: list[Setting] = []
        self.nested: list[tuple[int, int]] = []
        self.words: list[Word] = []
        self.heredocs: list[str] = []
        self._clear()

    def _clear(self) -> None:
        self.chars: list[str] = []
        self.at: list[int] = []
        self.literal, self.open, self.begin = True, False, 0

    def _put(self, i: int) -> None:
        self._touch(i)
        self.chars.append(self.text[i])
        self.at.append(i)

    def _touch(self, i: int) -> None:
        if not self.open:
            self.open, self.begin = True, i

    def _end_word(self) -> None:
        if self.open:
            self.words.append(Word("".join(self.chars), tuple(self.at), self.literal, self.begin))
        self._clear()

    def _end_command(self) -> None:
        self._end_word()
        if self.words:
            self.commands.append(self.words)
        self.words = []

    def run(self) -> None:
        """Read everything."""
        while self.i < self.end:
            self._step(self.text[self.i])
        self._end_command()

    def _step(self, char: str) -> None:
        i = self.i
        if char == "\\":
            self.i += 2
            if self.text[i + 1 : i + 2] != "\n" and i + 1 < self.end:
                self._put(i + 1)
        elif char in "'\"":
            self._quoted(char)
        elif char == "#" and not self.open:
            self._comment()
        elif char == "\n":
            self._newline()
        elif char.isspace():
            self._end_word()
            self.i += 1
        elif char in "$`":
            self._expansion(quoted=False)
        elif char == "<" and (match := _HEREDOC.match(self.text, i, self.end)):
            self._end_word()
            self.heredocs.append(match.group(2))
            self.i = match.end()
        elif char in "<>":
            self._end_word()
            self.i += 1
        elif char in ";|&()":
            self._end_command()
            self.i += 1
        else:
            self._put(i)
            self.i += 1

    def _comment(self) -> None:
        line_end = self._line_end()
        match = _DIRECTIVE.match(self.text, self.i, line_end)
        if match:  # a batch system reads its options from comments
            self.i = match.end()
        else:
            self.i = line_end

    def _newline(self) -> None:
        self._end_command()
        self.i += 1
        for delimiter in self.heredocs:
            while self.i < self.end:
                line_end = self._line_end()
                line = self.text[self.i : line_end].strip()
                self.i = min(line_end + 1, self.end)
                if line == delimiter:
                    break
        self.heredocs = []

    def _line_end(self) -> int:
        found = self.text.find("\n", self.i, self.end)
        return self.end if found < 0 else found

    def _quoted(self, quote: str) -> None:
        self._touch(self.i)
        self.i += 1
        while self.i < self.end and self.text[self.i] != quote:
            char = self.text[self.i]
            if quote == '"' and char == "\\" and self.i + 1 < self.end:
                if self.text[self.i + 1] != "\n":
                    self._put(self.i + 1)
                self.i += 2
            elif quote == '"' and char in "$`":
                self._expansion(quoted=True)
            else:
                self._put(self.i)
                self.i += 1
        self.i += 1

    def _expansion(self, quoted: bool) -> None:
        """`$NAME`, `${NAME...}`, `$(...)`, backticks; the raw text stays in the word."""
        begin = self.i
        if self.text[begin] == "`":
            close = self.text.find("`", begin + 1, self.end)
            stop = self.end if close < 0 else close + 1
            self.nested.append((begin + 1, stop - 1))
        elif self.text.startswith("$(", begin):
            stop = self._matching(begin + 1, "(", ")")
            if not self.text.startswith("$((", begin):
                self.nested.append((begin + 2, stop - 1))
        elif self.text.startswith("${", begin):
            stop = self._matching(begin + 1, "{", "}")
            self._parameter(begin + 2, stop - 1)
        else:
            match = _NAME.match(self.text, begin + 1, self.end)
            stop = match.end() if match else min(begin + 2, self.end)
            if match:
                self.mentions.append(self._plain(match.start(), match.end()))
        if stop == begin + 1 and not quoted:
            stop = begin + 1
        self._touch(begin)
        self.literal = False
        for i in range(begin, stop):
            self.chars.append(self.text[i])
            self.at.append(i)
        self.i = max(stop, begin + 1)

    def _parameter(self, start: int, end: int) -> None:
        """`${NAME:-default}`: a mention, and a setting for the default."""
        match = _NAME.match(self.text, start, end)
        if match is None:
            return
        name = self._plain(match.start(), match.end())
        self.mentions.append(name)
        operator = re.compile(r":?[-=]").match(self.text, match.end(), end)
        if operator:
            self.defaults.append(Setting(name, self._plain(operator.end(), end), ("default",), True))

    def _plain(self, start: int, end: int) -> Word:
        return Word(self.text[start:end], tuple(range(start, end)), "$" not in self.text[start:end], start)

    def _matching(self, start: int, opening: str, closing: str) -> int:
        """Offset after the bracket that closes the one at `start`."""
        depth = 0
        for i in range(start, self.end):
            if self.text[i] == opening:
                depth += 1
            elif self.text[i] == closing:
                depth -= 1
                if depth == 0:
                    return i + 1
        return self.end
