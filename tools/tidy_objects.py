"""Rules of tidy.py about objects: how large one may be, and what it may know of others.

A rule here is a measure with a limit. What is beyond its limit today is listed in OFFENDERS, one line each of rule,
subject, number and the reason. A number there may only fall, and a line goes once its subject is within the limit.
"""

import functools
import re

OFFENDERS = "tools/offenders.txt"
POLICY = re.compile(r'\bPolicyEntry (k\w+)\s*=?\s*\{\s*\.name = "([a-z0-9-]+)"')
REGISTRY = "fairlead/policy/policies.h"

# Headers that others implement or extend, and what they add by them.
INTERFACES = {
    "fairlead/policy/policy.h": "policies, also outside this tree",
    "fairlead/engine/backend.h": "worlds: simulated, local, pods, recorded",
    "fairlead/journal/journal.h": "sinks of records: figures, audits, reports, replay",
    "fairlead/io/io.h": "machines of the daemon: real and simulated",
    "fairlead/kube/door.h": "ways to an API server",
    "fairlead/kube/listener.h": "receivers of changes of a Kubernetes cluster",
    "fairlead/trace/format.h": "trace formats",
}
# Names of policies that name other things as well: the program, trace formats, another scheduler.
OTHER_THINGS = {"fairlead", "gavel", "philly", "slurm", "tiresias"}
# A list of test inputs: policies for drawn worlds, with options that make much happen in seconds.
WORLDS = "fairlead/torture/world_plan.cc"


def offenders(tree):
    """Reads OFFENDERS: (line, rule, subject, number, reason) each."""
    source = tree.get(OFFENDERS)
    for line, text in enumerate(source.lines if source else [], 1):
        if text and not text.startswith("#"):
            rule, subject, number, *reason = text.split(maxsplit=3)
            yield line, rule, subject, int(number), "".join(reason)


LIMITED = set()


def at_most(limit):
    """Makes a rule of a measure: it takes the tree, and yields (path, line, subject, number, of what)."""
    def rule_of(measure):
        name = measure.__name__.removeprefix("check_")
        LIMITED.add(name)

        @functools.wraps(measure)
        def rule(tree):
            listed = {subject: (line, number) for line, of, subject, number, _ in offenders(tree) if of == name}
            for path, line, subject, number, what in measure(tree):
                at, allowed = listed.pop(subject, (None, limit))
                if number > allowed:
                    yield path, line, f"{subject}: {what}: {number}, at most {allowed}"
                elif at and number <= limit:
                    yield OFFENDERS, at, f"{subject} is within the limit: remove this line"
                elif at and number < allowed:
                    yield OFFENDERS, at, f"{subject}: {what}: {number} now: lower the number"
            for subject, (at, _) in listed.items():
                yield OFFENDERS, at, f"{subject} is not there: remove this line"
        return rule
    return rule_of


def check_offenders(tree):
    """Reports lines of unknown rules, without a reason, or not in order, because a subject has one line."""
    before = None
    for line, rule, subject, _, reason in offenders(tree):
        if rule not in LIMITED:
            yield OFFENDERS, line, f"no such rule: {rule}"
        if not reason:
            yield OFFENDERS, line, "a line ends with the reason"
        if before and (rule, subject) <= before:
            yield OFFENDERS, line, "lines are sorted, and a subject has one for each rule"
        before = (rule, subject)


def types(tree):
    """Finds the types of the program, each with its Source and a name for people."""
    for path, source in tree.items():
        for found in [] if source.is_test or not source.module else source.types:
            name = found.name.removeprefix("fairlead::")
            yield source, found, f"{path}:{name}" if found.is_local else name


@at_most(1)
def check_files_of_class(tree):
    """Counts the .cc files that implement a class, in which classes within it count for it."""
    at = {found.name: source for source, found, _ in types(tree) if not found.is_local}
    files = {}
    for path, source in tree.items():
        local = {found.name for found in source.types if found.is_local}
        for name in source.definitions if source.module and path.endswith(".cc") and not source.is_test else []:
            parts = name.split("::")
            outer = ("::".join(parts[:count]) for count in range(1, len(parts)))
            if (owner := next((one for one in outer if one in at or one in local), None)) and owner not in local:
                files.setdefault(owner, set()).add(path)
    for source, found, name in types(tree):
        if found.name in files and not found.is_local:
            yield source.path, found.line, name, len(files[found.name]), "files that implement it"


@at_most(40)
def check_member_functions(tree):
    """Counts functions that are declared, each overload once, except constructors, destructors, and what is
    defaulted or deleted."""
    for source, found, name in types(tree):
        yield source.path, found.line, name, len(found.functions), "member functions"


@at_most(20)
def check_data_members(tree):
    """Counts the data of an object, except static members. A record, all of whose fields are public, is no object
    but a list: it has no limit."""
    for source, found, name in types(tree):
        if any(member.endswith("_") for member in found.data):
            yield source.path, found.line, name, len(found.data), "data members"


@at_most(12)
def check_headers_behind(tree):
    """Counts the project's headers that an interface brings along, also by way of others."""
    for path in INTERFACES:
        behind, ahead = set(), [path]
        while ahead:
            source = tree.get(ahead.pop())
            for header in source.includes if source else []:
                if header not in behind:
                    behind.add(header)
                    ahead.append(header)
        if path in tree:
            yield path, 1, path, len(behind), "headers behind it"


def policies(tree):
    """Finds the policies of the registry: (name, path) by entry, in which those without a name have (None, None)."""
    named = {entry: (name, path) for path, source in tree.items()
             if path.startswith("fairlead/policy/") and path.endswith(".cc") and not source.is_test
             for entry, name in POLICY.findall(source.text)}
    return {entry: named.get(entry, (None, None)) for entry in re.findall(r"&(k\w+)", tree[REGISTRY].text)}


@at_most(0)
def check_policy_names(tree):
    """Counts literals that name a policy, which only policies and tests may: others ask the policy what it does.

    One of OTHER_THINGS counts with options behind it, or in a line that has the word policy.
    """
    names = {name for name, _ in policies(tree).values() if name}
    for path, source in tree.items():
        if not source.is_cpp or not source.module or source.module == "policy" or source.is_test or path == WORLDS:
            continue
        found = []
        for line, text in source.literals:
            name, colon, options = text.partition(":")
            with_options = re.match(r"\w+=", options)
            if name in names and (with_options or not colon) and (
                    name not in OTHER_THINGS or with_options or "policy" in source.lines[line - 1].lower()):
                found.append(line)
        if found:
            yield path, found[0], path, len(found), "names of policies"


def wide(count, members):
    """Writes a class with so many times those members."""
    body = "".join(members.format(number) for number in range(count))
    return f"// A class.\n#pragma once\nnamespace fairlead {{\nclass Wide {{\n{body}}};\n}}  // namespace fairlead\n"


def chain(count):
    """Writes an interface with so many headers behind it, of which each includes the next."""
    paths = ["fairlead/io/io.h", *(f"fairlead/io/h{number}.h" for number in range(count))]
    includes = [*(f'#include "{path}"\n' for path in paths[1:]), ""]
    return {path: f"// One of them.\n#pragma once\n{include}" for path, include in zip(paths, includes)}


WIDE = "fairlead/model/wide.h"
ODD_AT = "fairlead/model/odd.h"
# It has 4 member functions and 3 data members.
ODD = """// A class.
#pragma once
namespace fairlead {
class Odd final : public Other<int(int)> {
 public:
  explicit Odd(std::function<void()> done = {}) : done_(std::move(done)), many_{1, 2} {}
  Odd(const Odd&) = delete;
  ~Odd() override { many_.clear(); }
  bool operator==(const Odd& other) const = default;
  friend bool operator<(const Odd& left, const Odd& right) { return left.many_ < right.many_; }
  using Many = std::vector<int>;
  enum class Kind { kOne, kTwo };
  struct Row {
    int at = 0;
  };
  template <class Each, class Value = std::map<int, int>>
  void each(const Each& each, Value value = {}) const {
    for (int one : many_) each(one, value);
  }
  bool operator()(int a, int b) const { return a < b; }  // int not_a_member_;
  [[nodiscard]] virtual std::map<int, std::function<int(int)>> of(
      int a, int b = 2) const = 0;
  auto size() const -> std::size_t;

 private:
  static constexpr int kMost = 3;
  static inline int count_ = 0;
  std::function<void(int)> done_;
  Many many_{std::size(";{")};
  const char* const names_[2] = {
      "a", "b"};
};
}  // namespace fairlead
"""

# What every rule accepts, beside CLEAN of tidy.py.
CLEAN = {
    OFFENDERS: "# These may only shrink.\nfiles_of_class Wide 2 why\n",
    "fairlead/model/CMakeLists.txt": "fl_module(model SOURCES wide.cc more.cc local.cc TESTS wide_test.cc)\n",
    WIDE: wide(20, "  void f{0}();\n  void f{0}(int);\n  int a{0}_ = g(1, 2);\n"),
    ODD_AT: ODD,
    "fairlead/model/record.h": "// A record.\n#pragma once\nstruct Record {\n" + "  int a;\n" * 21 + "};\n",
    "fairlead/model/wide.cc": "namespace fairlead {\nvoid Wide::f0() {}\n}  // namespace fairlead\n",
    "fairlead/model/more.cc": """namespace fairlead {
void Wide::In::g() {
  Odd::h();
}
auto a = "las-2", b = "las: {}";
}  // namespace fairlead
""",
    # A class of its own, because only this file knows it.
    "fairlead/model/local.cc": """namespace fairlead {
namespace {
class Wide {
  int f();
};
}  // namespace
int Wide::f() {
  return 1;
}
}  // namespace fairlead
""",
    "fairlead/model/wide_test.cc": 'namespace fairlead {\nvoid Wide::f1() { use("las"); }\n}  // namespace fairlead\n',
    "fairlead/torture/CMakeLists.txt": "fl_module(torture SOURCES world_plan.cc)\n",
    WORLDS: 'auto drawn = "las:quantum_s=10";\n',
}
LISTED = CLEAN[OFFENDERS]
# A program beside those of CLEAN, and a policy whose name names other things as well.
RUN = "fairlead/cli/run.cc"
GAVEL = {"fairlead/policy/gavel.cc": 'const PolicyEntry kGavel = {.name = "gavel"};\n',
         REGISTRY: "constexpr std::array kPolicies = {&kLas, &kGavel};\n"}

VIOLATIONS = [
    (check_files_of_class, {OFFENDERS: ""}, f"{WIDE}:4: Wide: files that implement it: 2, at most 1"),
    (check_files_of_class, {"fairlead/base/a.cc": "namespace fairlead {\nWide::Wide() : a_{1} {\n}\n}\n"},
     f"{WIDE}:4: Wide: files that implement it: 3, at most 2"),
    (check_files_of_class, {OFFENDERS: "files_of_class Wide 3 why\n"},
     f"{OFFENDERS}:1: Wide: files that implement it: 2 now: lower"),
    (check_files_of_class, {"fairlead/model/more.cc": ""}, f"{OFFENDERS}:2: Wide is within the limit: remove"),
    (check_files_of_class, {OFFENDERS: "files_of_class Gone 2 why\n" + LISTED}, f"{OFFENDERS}:1: Gone is not there"),
    (check_member_functions, {WIDE: wide(41, "  int f{}() const {{ return 1; }}\n")},
     f"{WIDE}:4: Wide: member functions: 41, at most 40"),
    (check_member_functions, {ODD_AT: ODD.replace(" private:\n", "  void f(int a = {});\n" * 37)},
     f"{ODD_AT}:4: Odd: member functions: 41, at most 40"),
    (check_member_functions, {OFFENDERS: "member_functions Odd 41 why\n"}, f"{OFFENDERS}:1: Odd is within the limit"),
    (check_data_members, {WIDE: wide(11, "  int a{0}_ = 1, b{0}_;\n")},
     f"{WIDE}:4: Wide: data members: 22, at most 20"),
    (check_data_members, {ODD_AT: ODD.replace(" private:\n", "  std::vector<int> a_{f(1), 2};\n" * 18)},
     f"{ODD_AT}:4: Odd: data members: 21, at most 20"),
    (check_data_members, {WIDE: wide(22, "  int a{}_;\n"), OFFENDERS: "data_members Wide 23 why\n"},
     f"{OFFENDERS}:1: Wide: data members: 22 now: lower"),
    (check_headers_behind, chain(13), "fairlead/io/io.h:1: fairlead/io/io.h: headers behind it: 13, at most 12"),
    (check_headers_behind, chain(12) | {OFFENDERS: "headers_behind fairlead/io/io.h 13 why\n"},
     f"{OFFENDERS}:1: fairlead/io/io.h is within the limit"),
    *[(check_policy_names, GAVEL | {RUN: f"int a;\n{line}\n"}, f"{RUN}:2: {RUN}: names of policies: 1, at most 0")
      for line in ['if (name == "las") return;', 'auto a = "las:quantum_s=1";', 'if (policy == "gavel") return;',
                   'use("gavel:round_s=1");  // "las"']],
    (check_policy_names, {OFFENDERS: f"policy_names {RUN} 1 why\n"}, f"{OFFENDERS}:1: {RUN} is not there"),
    (check_offenders, {OFFENDERS: "files_of_classes Wide 2 why\n"}, f"{OFFENDERS}:1: no such rule: files_of_classes"),
    (check_offenders, {OFFENDERS: "files_of_class Wide 2\n"}, f"{OFFENDERS}:1: a line ends with the reason"),
    (check_offenders, {OFFENDERS: LISTED + LISTED}, f"{OFFENDERS}:4: lines are sorted"),
]
