"""What mkdocs.yml adds to MkDocs: pages and files from outside docs/, lists of pages, and diagrams."""

import pathlib
import posixpath
import re
import shutil
import subprocess

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = ("CONTRIBUTING.md", "CHANGELOG.md")  # which stand beside docs/, and in the site among its pages
LINK = re.compile(r"\[([^\]]*)\]\(([^)#\s]+)(#[^)\s]*)?\)")

linked = set()  # files and folders outside docs/, which the site has under source/


def on_config(config):
    """Folders that the navigation names in capitals become lists of their pages."""
    def filled(entry):
        if isinstance(entry, list):
            return [filled(one) for one in entry]
        if isinstance(entry, dict):
            return {title: filled(below) for title, below in entry.items()}
        if not entry.isupper():
            return entry
        folder = entry.lower()
        pages = sorted(path.name for path in (ROOT / "docs" / folder).glob("*.md") if path.name != "README.md")
        named = [f"{folder}/{page}" if folder == "decisions" else {page[:-3]: f"{folder}/{page}"} for page in pages]
        return [f"{folder}/README.md", *named]

    config["nav"] = filled(config["nav"])
    return config


def on_files(files, config):
    for page in PAGES:
        files.append(File(page, str(ROOT), config["site_dir"], config["use_directory_urls"]))
    return files


def on_page_markdown(markdown, page, config, files):
    """Links are written for where the source is browsed: relative to the file, also out of docs/."""
    name = page.file.src_uri
    folder = posixpath.dirname(name if name in PAGES else "docs/" + name)
    here = posixpath.dirname(name) or "."

    def there(match):
        label, target, anchor = match.groups()
        if "://" in target or target.startswith("mailto:"):
            return match[0]
        path = posixpath.normpath(posixpath.join(folder, target))
        if path.startswith("docs/"):
            path = path[len("docs/"):]
        elif path not in PAGES:
            linked.add(path)
            return f'<a href="{posixpath.relpath("source/" + path, here)}">{label}</a>'
        return f"[{label}]({posixpath.relpath(path, here)}{anchor or ''})"

    pieces = re.split(r"(^```.*?^```$)", markdown, flags=re.M | re.S)  # text, code, text, ...
    pieces[::2] = [LINK.sub(there, text) for text in pieces[::2]]
    pieces[1::2] = [diagram(code) if code.startswith("```mermaid\n") else code for code in pieces[1::2]]
    return "".join(pieces)


# One arrow of Mermaid: SOURCE -- label --> TARGET & TARGET, or SOURCE --> TARGET: label. Texts are in quotes.
ARROW = re.compile(r'(.+?) (?:-- ("[^"]*"|[^"-]+) )?(-->|---|<-->) (.+?)(?:: (.+))?$')
NODE = re.compile(r'([^\["]+|\[\*\])(?:\["?([^"]*?)"?\])?$')


def diagram(code):
    """A graph of arrows in Mermaid, drawn by Graphviz, so that readers need no script from elsewhere."""
    first, *lines = code.splitlines()[1:-1]
    direction = "TB" if first.endswith("TD") else "LR"
    parts = [f'rankdir={direction}; bgcolor=transparent; node [shape=box, fontname="sans-serif"];',
             'edge [fontname="sans-serif", fontsize=11];']

    def name(node):
        word, text = NODE.match(node.strip()).groups()
        if text:
            parts.append(f'"{word}" [label="{text.replace("<br/>", chr(92) + "n")}"];')
        if word == "[*]":
            parts.append(f'"{word}" [shape=point];')
        return word

    for line in lines:
        quoted = re.findall(r'"[^"]*"', line)
        plain = re.sub(r'"[^"]*"', '"@"', line.strip())  # so that no text is taken for an arrow
        source, label, arrow, targets, state = ARROW.match(plain).groups()

        def whole(text):
            return re.sub('"@"', lambda _: quoted.pop(0), text)

        source = name(whole(source))
        label = whole(label).strip('"') if label else state or ""
        ends = {"-->": "", "---": ", dir=none", "<-->": ", dir=both"}[arrow]
        for target in targets.split(" & "):
            parts.append(f'"{source}" -> "{name(whole(target))}" [label="{label}"{ends}];')
    dot = "digraph { " + " ".join(parts) + " }"
    svg = subprocess.run(["dot", "-Tsvg"], input=dot, check=True, capture_output=True, text=True).stdout
    svg = svg[svg.index("<svg"):].replace('stroke="black"', 'stroke="currentColor"').replace(
        'fill="black"', 'fill="currentColor"').replace("<text ", '<text fill="currentColor" ')
    svg = re.sub(r'<svg width="(\w+)" height="\w+"', r'<svg style="width: \1; max-width: 100%; height: auto"', svg)
    return re.sub(r"<!--.*?-->\n?|<title>.*?</title>\n?", "", svg, flags=re.S)


def on_post_build(config):
    for path in linked:
        source, target = ROOT / path, pathlib.Path(config["site_dir"]) / "source" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True)
        else:
            shutil.copyfile(source, target)
