# SPDX-License-Identifier: BSD-3-Clause
"""Pages of the Python reference, as reStructuredText, from the package's sources: nothing is imported."""

import ast
import re


class Package:
    def __init__(self, folder):
        self.trees = {path.stem: ast.parse(path.read_text()) for path in sorted(folder.glob("*.py"))}
        self.known = {node.name: node for tree in self.trees.values() for node in tree.body
                      if isinstance(node, (ast.ClassDef, ast.FunctionDef))}

    def exported(self):
        """Names in __all__ of the package."""
        for node in self.trees["__init__"].body:
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
                return [element.value for element in node.value.elts]
        raise ValueError("the package has no __all__")

    def module(self, name, title):
        """A page: `name` is "" for the package itself."""
        tree = self.trees[name or "__init__"]
        full = f"sapstep.{name}" if name else "sapstep"
        out = [title, "=" * len(title), "", f".. py:module:: {full}", "", *self._text(tree, "")]
        nodes = [self.known[n] for n in self.exported() if n in self.known] if not name else [
            n for n in tree.body if isinstance(n, (ast.ClassDef, ast.FunctionDef)) and not n.name.startswith("_")]
        for node in nodes:
            out += self._class(node) if isinstance(node, ast.ClassDef) else self._function(node, "function", "")
        return "\n".join(out) + "\n"

    def _bases(self, node):
        """The class and its bases within the package, nearest first."""
        found = [node]
        for base in node.bases:
            name = base.id if isinstance(base, ast.Name) else ""
            if name in self.known:
                found += self._bases(self.known[name])
        return found

    def _class(self, node):
        init, members, seen = None, [], set()
        for owner in self._bases(node):
            for part in owner.body:
                name = getattr(part, "name", None) or getattr(getattr(part, "target", None), "id", "_")
                if name == "__init__" and init is None:
                    init = part
                if name.startswith("_") or name in seen:
                    continue
                seen.add(name)
                if isinstance(part, ast.FunctionDef):
                    decorators = [ast.unparse(d) for d in part.decorator_list]
                    if "property" in decorators:
                        members += self._property(part)
                    else:
                        members += self._function(part, "method", "   ", decorators)
                elif isinstance(part, ast.AnnAssign):
                    members += [f"   .. py:attribute:: {name}", f"      :type: {ast.unparse(part.annotation)}", ""]
        signature = f"({self._arguments(init.args, True)})" if init else ""
        return [f".. py:class:: {node.name}{signature}", "", *self._text(node, "   "), *members]

    def _property(self, node):
        kind = f"      :type: {ast.unparse(node.returns)}" if node.returns else ""
        return [f"   .. py:property:: {node.name}", kind, "", *self._text(node, "      ")]

    def _function(self, node, kind, indent, decorators=()):
        static = "staticmethod" in decorators
        returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
        own = kind == "method" and not static
        options = [f"{indent}   :{option}:" for option in ("classmethod", "staticmethod") if option in decorators]
        return [f"{indent}.. py:{kind}:: {node.name}({self._arguments(node.args, own)}){returns}", *options, "",
                *self._text(node, indent + "   ")]

    @staticmethod
    def _arguments(args, own):
        copy = ast.parse(f"def f({ast.unparse(args)}): pass").body[0].args
        if own:
            del (copy.posonlyargs or copy.args)[0]
        return ast.unparse(copy)

    @staticmethod
    def _text(node, indent):
        # v*, |v| and */ begin no markup, (3) begins no list.
        markup = re.compile(r"(?<=\w)\*(?!\*)|[|]|\*(?=/)|^\((?=\d+\) )", re.MULTILINE)
        text = markup.sub(lambda m: "\\" + m.group(), ast.get_docstring(node) or "")
        lines = text.split("\n")
        if lines[0].endswith("::"):  # all that follows is indented alike, which cleaning removes
            lines[1:] = ["    " + line for line in lines[1:]]
        return [indent + line if line.strip() else "" for line in lines] + [""]
