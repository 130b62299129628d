"""Reads a file of the project for the rules of tidy.py: its lines, and for C++ its comments, literals and types.

C++ is read by its text, without a compiler: good enough for a file that clang-format has laid out.
"""

import functools
import re
from typing import NamedTuple

TOKEN = re.compile(r"""//[^\n]*|/\*.*?\*/
                       |R"(?P<mark>\w*)\(.*?\)(?P=mark)"|"(?:[^"\\\n]|\\.)*"
                       |(?<![0-9a-fA-F])'(?:[^'\\\n]|\\.)+'""", re.S | re.X)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)
BRACKET = re.compile(r"[(){}\[\]]")
STOP = re.compile(r"[({\[;]")
MADE = re.compile(r"= (default|delete)$")
NO_MEMBER = re.compile(r"(template )?(friend|using|typedef|static_assert|class|struct|union|enum)\b")
STATIC = re.compile(r"(inline |constexpr )*static\b")
# The marks with which comments begin, in files other than C++.
COMMENT = {".ts": re.compile(r"(?:^|\s)(?://|/?\*).*"), "CMakeLists.txt": re.compile(r"#.*")}


class Span(NamedTuple):
    line: int
    text: str


class Type:
    """A class, struct or union with its own members, without those of the types within it."""

    def __init__(self, name, line, is_local):
        self.name = name          # with its namespaces and outer types
        self.line = line
        self.is_local = is_local  # in an unnamed namespace, so that other files may have a type of this name
        self.functions = []       # names, without constructors, destructors and what is defaulted or deleted
        self.data = []            # names, without static members


class Source:
    def __init__(self, path, text):
        self.path = path
        self.text = text
        self.lines = text.splitlines()
        self.is_cpp = path.endswith((".h", ".cc"))
        self.module = path.split("/")[1] if path.startswith("fairlead/") else None
        name = path.rpartition("/")[2]
        self.is_test = path.startswith("tests/") or name.endswith("_test.cc") or name.startswith("testing")

    @functools.cached_property
    def comments(self):
        """Finds its comments, a Span for each line."""
        for ending, mark in COMMENT.items():
            if self.path.endswith(ending):
                return [Span(number, at[0]) for number, line in enumerate(self.lines, 1) for at in mark.finditer(line)]
        return [Span(at.line + number, line) for at in self._tokens if at.text.startswith("/")
                for number, line in enumerate(at.text.split("\n"))]

    @functools.cached_property
    def literals(self):
        """Finds its string literals, Spans without the quotes."""
        return [Span(at.line, at.text[1:-1]) for at in self._tokens if at.text.startswith('"')]

    @functools.cached_property
    def includes(self):
        """Finds the paths of the project's headers that it includes itself."""
        return re.findall(r'^#include "(fairlead/[^"]+)"', self.text, re.M)

    @property
    def types(self):
        """Finds the Types that it defines."""
        return self._declarations.types

    @property
    def definitions(self):
        """Finds the functions with a body at namespace scope: their names, with namespaces and classes."""
        return self._declarations.definitions

    @functools.cached_property
    def _tokens(self):
        found, line, end = [], 1, 0
        for at in TOKEN.finditer(self.text) if self.is_cpp else []:
            line += self.text.count("\n", end, at.start())
            end = at.start()
            found.append(Span(line, at[0]))
        return found

    @functools.cached_property
    def _declarations(self):
        return _Declarations(_code(self.text) if self.is_cpp else "")


def _code(text):
    """Blanks comments, directives and what literals say; every line stays where it is."""
    def blank(at):
        return re.sub(r"[^\n]", " ", at[0]) if at[0].startswith("/") else '""' + "\n" * at[0].count("\n")
    return DIRECTIVE.sub(lambda at: "\n" * at[0].count("\n"), TOKEN.sub(blank, text))


def _without(pattern, text):
    """Removes what the pattern finds, from the innermost to the outermost."""
    removed = 1
    while removed:
        text, removed = re.subn(pattern, " ", text)
    return text


class _Declarations:
    """What a file declares, read in one walk over its code."""

    def __init__(self, code):
        self.types = []
        self.definitions = []
        self._code = code
        self._closed = {}  # the closing bracket of each opening one
        opened = []
        for at in BRACKET.finditer(code):
            if at[0] in "({[":
                opened.append(at.start())
            elif opened:
                self._closed[opened.pop()] = at.start()
        self._read(0, len(code), (), None)

    def _read(self, begin, end, scopes, owner):
        """Reads what is declared in `scopes` (None is an unnamed one), as members of the Type `owner` if any."""
        at = begin
        while stop := STOP.search(self._code, at, end):
            close = self._closed.get(stop.start(), stop.start())
            at = close + 1
            if stop[0] in "([":
                continue
            head = _head(self._code[begin:stop.start()])
            if stop[0] == ";":
                self._declare(head, scopes, owner, has_body=False)
            elif space := re.match(r'(?:inline )?namespace\b ?([\w:]*)$|extern ""$', head):
                inner = () if head.startswith("extern") else (space[1] or None,)
                self._read(stop.end(), close, scopes + inner, None)
            elif named := re.match(r"(?:template )?(class|struct|union|enum)\b(?: class)? ?([\w:]*)[^(=]*$", head):
                if named[1] != "enum":
                    name = named[2] or "unnamed"
                    line = self._code.count("\n", 0, stop.start()) + 1
                    self.types.append(Type(_joined(scopes, name), line, None in scopes))
                    self._read(stop.end(), close, (*scopes, name), self.types[-1])
            elif _is_function(head) and not _initialises(head):
                self._declare(head, scopes, owner, has_body=True)
            else:
                continue
            begin = at

    def _declare(self, head, scopes, owner, has_body):
        if not head or NO_MEMBER.match(head):
            return
        if _is_function(head):
            name = re.search(r"([\w:~]+) ?\(", head)[1]
            if owner is None and has_body and None not in scopes:
                self.definitions.append(_joined(scopes, name))
            elif owner is not None and name.lstrip("~") != scopes[-1].split("::")[-1] and not MADE.search(head):
                owner.functions.append(name)
        elif owner is not None and not STATIC.match(head):
            plain = _without(r"\([^()]*\)|\{[^{}]*\}|\[[^\[\]]*\]", head)
            owner.data += [re.search(r"(\w*) *((?<!:):(?!:)[^=]*)?(=.*)?$", one)[1] for one in plain.split(",")]


def _joined(scopes, name):
    return "::".join([*(scope for scope in scopes if scope), name])


def _head(text):
    """Writes a declaration in one line, without access labels, attributes and template arguments."""
    text = re.sub(r"\boperator\s*(\(\s*\)|\[\s*\]|[^\s\w(]+)", "operator_", text)
    text = re.sub(r"\[\[.*?\]\]|\b(?:decltype|alignas|explicit|noexcept|requires) ?\([^()]*\)|->", " ", text)
    text = " ".join(_without(r"<[^<>]*>", text).split())
    return re.sub(r"^(?:(?:public|private|protected) ?: ?)+", "", text)


def _is_function(head):
    """Reports whether a declaration is one of a function, and not of data, also not of a pointer to a function."""
    return bool(re.search(r"[\w~] ?\(", re.split(r"[={]|\( ?[*&]", head)[0]))


def _initialises(head):
    """Reports whether the brace behind the head of a constructor initialises a member, and is not the body."""
    plain = _without(r"\([^()]*\)|\{[^{}]*\}", head)
    return bool(re.search(r"(?<!:):(?!:)", plain)) and head[-1] not in ")}"
