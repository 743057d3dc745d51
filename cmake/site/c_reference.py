# SPDX-License-Identifier: BSD-3-Clause
"""Pages of the C reference, as reStructuredText, from the public headers. Lists (X-macros) are expanded into the
enumerators and members that they make."""

import re



def escape(text):
    return re.sub(r"([\\*`|])|_(?=\W|$)", lambda m: "\\" + m.group(), text)


# The ranges of fields, see model.h; OWN: the comment has it.
RANGES = {"FINITE": ["finite"], "NOT_NEGATIVE": [">= 0"], "POSITIVE": ["> 0"], "STIFFNESS": ["> 0 or infinite"]}


class Words:
    """Turns text into reStructuredText with links to symbols and equations."""

    def __init__(self, equations):
        self.roles = {}  # symbol: role
        self.equations = equations  # numbers that the page of equations has

    def inline(self, text):
        text = escape(re.sub(r"  +", " ", text)).replace(r"\`", "`")
        text = re.sub(r"`([^`\n]+)`", lambda m: f"``{m.group(1)}``".replace("\\", ""), text)
        text = re.sub(r"``.*?``|\b(?:sap|SAP)_\w+\b(?:\(\))?", self._symbol, text)
        return re.sub(r"castro \((\d+)\)", lambda m: f":ref:`castro ({m.group(1)}) <castro-{m.group(1)}>`"
                      if m.group(1) in self.equations else m.group(), text)

    def _symbol(self, match):
        name = match.group().removesuffix("()")
        return f":c:{self.roles[name]}:`{name}`" if name in self.roles else match.group()

    def block(self, lines, indent=""):
        """Paragraphs; runs of lines that are indented further are shown as they are."""
        out, code = [], False
        for line in lines:
            deeper = bool(re.match(r"   *\S", line)) or (code and not line.strip())
            if deeper and not code:
                out += ["", ".. code-block:: none", ""]
            elif code and not deeper:
                out.append("")
            code = deeper
            out.append("" if not line.strip() else indent + ("   " + line if code else self.inline(line.strip())))
            if out[-3:-1] == ["", ""] and not code:
                del out[-2]
        return [indent + line if line.startswith(".. code") else line for line in out] + [""]


def arguments(text):
    """Splits at commas outside brackets and strings."""
    parts, depth, quoted, start = [], 0, False, 0
    for i, c in enumerate(text):
        if c == '"' and text[i - 1] != "\\":
            quoted = not quoted
        elif not quoted:
            depth += (c in "([{") - (c in ")]}")
            if c == "," and depth == 0:
                parts.append(text[start:i].strip())
                start = i + 1
    return [*parts, text[start:].strip()]


def calls(body):
    """Rows of a list: (macro, arguments, comment). A comment on a line of its own describes the next row, one
    behind a row that row."""
    body = re.sub(r"[ \t]*\\\n", "\n", body)
    rows, before, at = [], "", 0
    while True:
        match = re.compile(r"/\*.*?\*/|[A-Za-z_]\w*\(", re.DOTALL).search(body, at)
        if not match:
            return rows
        if match.group().startswith("/*"):
            text = " ".join(match.group()[2:-2].split())
            own_line = not body[body.rfind("\n", 0, match.start()) + 1:match.start()].strip()
            if own_line:
                before = f"{before} {text}".strip()
            else:
                rows[-1] = (*rows[-1][:2], f"{rows[-1][2]} {text}".strip())
            at = match.end()
            continue
        end, depth, quoted = match.end(), 1, False
        while depth:
            quoted ^= body[end] == '"'
            depth += 0 if quoted else (body[end] == "(") - (body[end] == ")")
            end += 1
        joined = re.sub(r'"\s*\n?\s*"', "", " ".join(body[match.end():end - 1].split()))
        rows.append((match.group()[:-1], arguments(joined), before))
        before, at = "", end


class Header:
    """Items of a header in their order: (kind, name, declaration, comment lines, members)."""

    def __init__(self, path, lists):
        self.lists, self.items, self.templates = lists, [], {}  # templates: "SAP_X(name) SAP_##name,"
        lines = path.read_text().split("\n")[1:]
        end = next(i for i, line in enumerate(lines) if not line.startswith("//"))
        self.text = [line[3:] for line in lines[:end]]
        self._read(lines[end:])

    def _read(self, lines):
        comment, i = [], 0
        while i < len(lines):
            line = lines[i]
            i += 1
            section = re.match(r"// --- (.*?) ---", line)
            if section:
                self.items.append(("section", section.group(1), "", [], []))
            elif line.startswith("// clang-format"):
                pass
            elif line.startswith("//"):
                comment.append(line[3:])
                continue
            elif line.startswith("#define"):
                while line.endswith("\\"):
                    line += "\n" + lines[i]
                    i += 1
                self._macro(line, comment)
            elif line and not line.startswith(("#", "}", "SAP_C_")):
                while not self._whole(line):
                    line += "\n" + lines[i]
                    i += 1
                self._declaration(line, comment)
            elif not line and comment:
                self.items.append(("text", "", "", comment, []))
            comment = []

    @staticmethod
    def _whole(text):
        code = re.sub(r"//.*|^#.*", "", text, flags=re.MULTILINE)
        return code.count("{") == code.count("}") and code.rstrip().endswith(";")

    def _macro(self, text, comment):
        name, parameters, body = re.match(r"#define (\w+)(\([^)]*\))?(.*)", text, re.DOTALL).groups()
        if name == "SAP_API" or name.startswith("SAP_C_"):
            return
        body = body.strip()
        if parameters and re.search(r"\b(X|FIELD|ARRAY)\(", body):
            self.lists[name] = calls(body)
        elif parameters and "##" in body:
            self.templates[name] = (arguments(parameters[1:-1]), body)
            return
        self.items.append(("macro", name, name + (parameters or ""), comment, []))

    def _declaration(self, text, comment):
        trailing = re.search(r";\s*//(.*)$", text)
        code = re.sub(r"//.*", "", text)
        match = re.match(r"(typedef )?(enum|struct) ?(\w*) ?{(.*)}\s*(\w*);", text.strip(), re.DOTALL)
        if match:
            _, kind, name, body, alias = match.groups()
            members = self._members(body, kind, comment)
            self.items.append((kind, alias or name, alias or name, comment, members))
            return
        if trailing and "{" not in text:
            comment = comment + [trailing.group(1).strip()]
        code = " ".join(code.replace("SAP_API ", "").split()).rstrip(";")
        opaque = re.fullmatch(r"typedef struct (\w+) (\w+)", code)
        if opaque:
            self.items.append(("struct", opaque.group(1), opaque.group(1), comment, []))
        elif code.startswith("typedef"):
            name = re.search(r"\(\*(\w+)\)|(\w+)(?:\(.*\))?$", code)
            self.items.append(("type", name.group(1) or name.group(2), code[len("typedef "):], comment, []))
        else:
            name = re.search(r"(\w+)\(", code)
            self.items.append(("function", name.group(1), code, comment, []))

    def _members(self, body, kind, own):
        """Members [(declaration, comment lines)] of an enum or a struct."""
        members, before, templates = [], [], dict(self.templates)
        lines = body.strip("\n").split("\n")
        i = 0
        while i < len(lines):
            line = re.sub(r"\) SAP_\w+_COUNT$", ")", lines[i].strip())
            i += 1
            define = re.match(r"#define (\w+)\(([^)]*)\) (.*)", line)
            use = re.match(r"(SAP_[A-Z_]+)\(([\w, ]+)\)$", line)
            if define:
                templates[define.group(1)] = (arguments(define.group(2)), define.group(3))
            elif use and use.group(1) in self.lists:
                members += self._expand(use.group(1), arguments(use.group(2)), templates, before)
                before = []
            elif line.startswith("// ---"):
                before = []
            elif line.startswith("//"):
                text = line[3:]
                if members and lines[i - 1].find("//") > 12 and not before:
                    members[-1][1].append(text)
                else:
                    before.append(text)
            elif line and not line.startswith("#"):
                code = line
                ends = "," if kind == "enum" else ";"
                while not re.sub(r"//.*", "", code).rstrip().endswith(ends) and i < len(lines):
                    code += "\n" + lines[i].strip()
                    i += 1
                trailing = [m.strip() for m in re.findall(r"//(.*)", code)]
                code = " ".join(re.sub(r"//.*", "", code).split()).rstrip(",;")
                for name in arguments(code) if kind == "enum" else split(code):
                    if not name.endswith("_COUNT"):
                        members.append((name, before + trailing))
                before = [] if before or trailing else before
        return members

    def _expand(self, name, names, templates, before):
        standard = {"SAP_FIELD": (["type", "name", "..."], "type name;"),
                    "SAP_FIELD_ARRAY": (["type", "name", "count", "..."], "type name[count];")}
        members = []
        for macro, values, comment in self.lists[name]:
            parameters, pattern = {**standard, **templates}[names[macro == "ARRAY"]]
            bound = dict(zip(parameters, values))
            text = re.sub(r"(?:##)?\b(" + "|".join(p for p in parameters if p != "...") + r")\b(?:##)?",
                          lambda m: bound[m.group(1)], pattern).replace("##", "")
            text = re.sub(r"^sap_type_(real|positive|integer|boolean) ",
                          lambda m: {"integer": "int32_t ", "boolean": "bool "}.get(m.group(1), "double "), text)
            text = re.sub(r"^sap_type_", "sap_", text)
            rest = values[len(parameters):] if "..." not in parameters else values[parameters.index("..."):]
            quoted = [v.strip('"') for v in values if v.startswith('"')]
            notes = []
            if "meaning" in bound:
                notes = [f"{quoted[-1]}; {bound['value']} by default" + (
                    f", {bound['low']} to {bound['high']}" if bound["type"] in ("real", "integer") else
                    ", > 0" if bound["type"] == "positive" else "")]
            elif macro in ("FIELD", "ARRAY"):
                notes = [f"{rest[0]} by default", *RANGES.get(rest[-1], [])]
            elif quoted:
                others = [v for v in values[1:] if not v.startswith('"')]
                notes = [", ".join(f'"{v}"' for v in quoted) + (f" ({', '.join(others)})" if others else "")]
            members.append((text.rstrip(",;"), before + [f"{comment}{'.' if comment else ''} {'; '.join(notes)}".strip()]))
        return members


def split(code):
    """Splits "double *x, *y" into one declaration each."""
    if "(" in code:
        return [code]
    base, rest = re.match(r"((?:const )?\w+(?: const\b)?)\s*(.*)", code).groups()
    return [f"{base} {declarator}" for declarator in arguments(rest)]


ROLES = {"function": "func", "struct": "struct", "enum": "enum", "macro": "macro", "type": "type"}


def read(folder):
    """Returns {file name: Header} of all headers."""
    lists = {}
    order = sorted(folder.glob("*.h"), key=lambda p: (p.name not in ("base.h", "contact.h"), p.name))
    return {path.name: Header(path, lists) for path in order}


def enumerators(items):
    return [d.split("=")[0].strip() for item in items if item[0] == "enum" for d, _ in item[4]]


def page(header, name, words):
    """Returns the section of a header as reStructuredText."""
    title = f"sapstep/{name}"
    out = [title, "=" * len(title), "", *words.block(header.text)]
    for kind, item, declaration, comment, members in header.items:
        if kind == "section":
            head = item[0].upper() + item[1:]
            out += [head, "-" * len(head), ""]
        elif kind == "text":
            out += words.block(comment)
        elif item:
            out += [f".. c:{kind}:: {declaration}", "", *words.block(comment, "   ")]
            for member, text in members:
                directive = "enumerator" if kind == "enum" else "member"
                out += [f"   .. c:{directive}:: {member}", "", *words.block(text, "      ")]
        else:  # an enum without a name: constants
            for member, text in members:
                out += [f".. c:macro:: {member.split('=')[0].strip()}", "", f"   {member.split('=')[1].strip()}", ""]
    return "\n".join(out) + "\n"
