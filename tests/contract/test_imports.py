"""The layers hold, and importing the course costs little."""

import ast
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_imports_only_go_down():
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-3000:]


def test_no_module_uses_the_private_names_of_another():
    found = []
    for path in sorted((ROOT / "course_lib").rglob("*.py")):
        tree, modules = ast.parse(path.read_text(encoding="utf-8")), set()
        for node in ast.walk(tree):
            match node:
                case ast.ImportFrom(module=str(home), names=names) if home.split(".")[0] == "course_lib":
                    found += [f"{path.name}: {home}.{n.name}" for n in names if n.name[0] == "_" and n.name != "_"]
                    folder = ROOT / home.replace(".", "/")
                    modules |= {n.asname or n.name for n in names if (folder / f"{n.name}.py").is_file()}
                case ast.Assign(
                    targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=[ast.Call(func=ast.Name(id="_private")), *_])
                ):
                    modules |= {name.id for name in names}  # the sandbox's kernel has copies of its own
        for node in ast.walk(tree):
            match node:
                case ast.Attribute(value=ast.Name(id=name), attr=attr) if name in modules and attr[0] == "_" != attr[1]:
                    found.append(f"{path.name}: {name}.{attr}")
    assert not found, "give these a public name: " + ", ".join(found)


def test_a_private_function_is_called_in_its_module():
    """Or in an example there: one that only a test calls lives in the test. What a decorator keeps is in a table."""
    found = []
    for path in (ROOT / "course_lib").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef) and re.match("_[^_]", node.name) and not node.decorator_list:
                found += [f"{path.name}: {node.name}"] if len(re.findall(rf"\b{node.name}\b", text)) < 2 else []
    assert not found, "nobody calls " + ", ".join(found)


def test_importing_the_course_loads_nothing_heavy():
    code = "import sys, course_lib; print(sorted({m.split('.')[0] for m in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    for heavy in ("plotly", "ipywidgets", "nbformat", "IPython", "ml_dtypes"):
        assert f"'{heavy}'" not in loaded


def test_models_need_numpy_and_nothing_else():
    """Below figures the only third-party import is NumPy (ml_dtypes in plan.precision)."""
    allowed = {"numpy", "ml_dtypes", "course_lib"}
    standard = set(sys.stdlib_module_names)
    for part in ("base", "links", "fabric", "comm", "timing", "plan", "cluster"):
        for path in (ROOT / "course_lib" / part).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                names = []
                if isinstance(node, ast.Import):
                    names = [a.name for a in node.names]
                elif isinstance(node, ast.ImportFrom) and node.level == 0:
                    names = [node.module]
                for name in names:
                    top = name.split(".")[0]
                    assert top in allowed or top in standard, f"{path.name} imports {name}"
                    assert top != "ml_dtypes" or part == "plan", f"{path.name} imports {name}"
