"""The three lists of versions agree: pyproject.toml, environment.yml and the lock files."""

import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def locked(name):
    """Return {package: version} of a lock file for the Python that runs the tests."""
    versions = {}
    for line in (ROOT / name).read_text(encoding="utf-8").splitlines():
        if match := re.match(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)\s*(?:;\s*([^\\]+))?", line):
            package, version, marker = match.groups()
            if not marker or Marker(marker.strip()).evaluate():
                versions[canonicalize_name(package)] = version
    return versions


def conda():
    parsed = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    plain = [d for d in parsed["dependencies"] if isinstance(d, str)]
    pip = next(d["pip"] for d in parsed["dependencies"] if isinstance(d, dict))
    return parsed, plain, pip


@pytest.mark.parametrize("name", ["requirements.lock.txt", "requirements-dev.lock.txt"])
def test_lock_files_hold_hashes_and_no_addresses(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    assert "://" not in text
    assert "--index-url" not in text
    blocks = re.split(r"\n(?=[A-Za-z0-9])", text.strip())
    assert all("--hash=sha256:" in block for block in blocks), [b for b in blocks if "--hash" not in b][:1]


def test_lock_files_fulfil_the_ranges_of_the_project():
    for requirement in map(Requirement, PROJECT["dependencies"]):
        assert requirement.specifier.contains(locked("requirements.lock.txt")[canonicalize_name(requirement.name)])
    extras = PROJECT["optional-dependencies"]
    assert f"[{','.join(name for name in extras if name != 'dev')}]" in extras["dev"][0], "dev takes every other extra"
    for requirement in map(Requirement, (line for lines in extras.values() for line in lines)):
        if requirement.name == PROJECT["name"] or (requirement.marker and not requirement.marker.evaluate()):
            continue
        assert requirement.specifier.contains(locked("requirements-dev.lock.txt")[canonicalize_name(requirement.name)])


def test_the_test_lock_only_adds_to_the_learners_lock():
    learner, dev = locked("requirements.lock.txt"), locked("requirements-dev.lock.txt")
    assert {name: dev.get(name) for name in learner} == learner


def test_conda_environment_has_the_same_versions_as_the_lock():
    pins = {canonicalize_name(r.name): r for r in map(Requirement, (p for p in conda()[2] if not p.startswith("-")))}
    wanted = {canonicalize_name(Requirement(d).name) for d in PROJECT["dependencies"]}
    assert set(pins) == wanted, "environment.yml lists other packages than pyproject.toml"
    for name, version in locked("requirements.lock.txt").items():
        if name in pins:
            assert str(pins[name].specifier) == f"=={version}", name


def test_conda_environment_is_short_portable_and_installs_the_course():
    parsed, plain, pip = conda()
    assert set(parsed) <= {"name", "channels", "dependencies"}
    assert "-e ." in pip
    assert "pip" in plain
    assert not [line for line in plain if re.search(r"=.*=|_64|-64", line)], "build strings and platform libraries"
    python = next(Requirement(p.replace("=", "==", 1) + ".*") for p in plain if p.startswith("python="))
    assert python.specifier.contains("3.11.9")


def installed_for_every_python(requirement):
    """Return whether this very version is installed here from a wheel that fits every Python 3: it need not be fetched again."""
    try:
        found = metadata.distribution(requirement.name)
    except metadata.PackageNotFoundError:
        return False
    wheel = found.read_text("WHEEL") or ""
    return (
        f"=={found.version}" == str(requirement.specifier)
        and re.search(r"^Tag: py3-none-any$", wheel, re.M) is not None
    )


@pytest.mark.kernel
@pytest.mark.parametrize("python", ["3.12", "3.13", "3.14"])
def test_the_lock_resolves_for_newer_pythons(python, tmp_path):
    """Wheels exist for each; running them is not tested here, and README says so."""
    # pip reads markers for the Python it runs on, so they are applied here for the Python asked about.
    there = {"python_version": python, "python_full_version": python + ".0"}
    text = (ROOT / "requirements.lock.txt").read_text(encoding="utf-8")
    kept = []
    for block in re.split(r"\n(?=[A-Za-z0-9])", text.strip()):
        requirement = Requirement(block.split(" \\")[0].strip())
        if installed_for_every_python(requirement):
            continue
        if requirement.marker is None or requirement.marker.evaluate(there):
            kept.append(re.sub(r"\s*;[^\\]*", " ", block, count=1))
    (tmp_path / "lock.txt").write_text("\n".join(kept) + "\n", encoding="utf-8")
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", "--no-deps", "--only-binary=:all:"]
    command += ["--ignore-requires-python"]  # pip 23 compares with the running Python here; the wheel tags still decide
    command += ["--require-hashes", "--python-version", python, "--target", str(tmp_path / "t")]
    assert 5 < len(kept) < 60, "compiled packages, such as NumPy, have a wheel for each Python"
    done = subprocess.run([*command, "-r", str(tmp_path / "lock.txt")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
