#!/usr/bin/env python3
"""release.py SOURCE: the release script refuses a tree, a version or a list of changes that is not ready; it prints
the reason and changes nothing. From a ready tree it makes version, package, sources, changes, checksums and tag. The
test uses a small repository whose ./dev builds nothing."""

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile

SCRIPT = os.path.join(sys.argv[1], "deploy/package/release")
CHANGES = """# Changes
## 0.2.0 (2026-01-31)
- **New.** Something.

## 0.1.0 (2026-01-01)
- **Old.** Something else.
"""
DEV = """#!/bin/bash
set -e
version=$(sed -n 's/^project(cobblestone VERSION \\([0-9.]*\\) .*/\\1/p' CMakeLists.txt)
mkdir -p build/package
echo "$1 $version" >"build/package/cobblestone_$version-1~deb12_amd64.deb"
"""


def check(holds, what):
    if not holds:
        sys.exit(f"release.py: {what}")


class Repository:
    def __init__(self, folder):
        self.folder = folder
        os.makedirs(os.path.join(folder, "deploy/package"))
        shutil.copy(SCRIPT, os.path.join(folder, "deploy/package/release"))
        self.write("CMakeLists.txt", "# cobblestone\nproject(cobblestone VERSION 0.1.0 LANGUAGES C CXX)\n")
        self.write("CHANGES.md", CHANGES)
        self.write(".gitignore", "/build/\n")
        self.write("dev", DEV)
        os.chmod(os.path.join(folder, "dev"), 0o755)
        self.git("init", "--quiet", "--initial-branch=main")
        self.commit()

    def write(self, path, text):
        with open(os.path.join(self.folder, path), "w") as file:
            file.write(text)

    def git(self, *words):
        settings = ("-c", "user.name=Ada", "-c", "user.email=ada@localhost")
        return subprocess.run(["git", *settings, *words], cwd=self.folder, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()

    def commit(self):
        self.git("add", "--all")
        self.git("commit", "--quiet", "-m", "a state of the tree")

    def release(self, *words):
        environment = {**os.environ, "GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@localhost", "GIT_COMMITTER_NAME": "Ada",
                       "GIT_COMMITTER_EMAIL": "ada@localhost"}
        return subprocess.run([os.path.join(self.folder, "deploy/package/release"), *words], cwd="/", env=environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def refuses(self, version, reason):
        before = self.git("rev-parse", "HEAD"), self.git("tag"), self.git("status", "--porcelain")
        done = self.release(*version)
        check(done.returncode == 1 and reason in done.stdout, f"{version}, not refused with '{reason}': {done.stdout}")
        check(before == (self.git("rev-parse", "HEAD"), self.git("tag"), self.git("status", "--porcelain")), "a refusal left a trace")
        check(not os.path.exists(os.path.join(self.folder, "build")), "a refusal built something")


with tempfile.TemporaryDirectory(prefix="release-") as folder:
    repository = Repository(os.path.join(folder, "tree"))
    repository.refuses((), "name the version")
    repository.refuses(("0.2",), "three numbers")
    repository.refuses(("0.02.0",), "three numbers")
    repository.refuses(("0.3.0",), "the first entry of CHANGES.md is '## 0.2.0 (2026-01-31)'; commit '## 0.3.0 (")
    repository.write("CHANGES.md", CHANGES + "- A change.\n")
    repository.refuses(("0.2.0",), "the tree is not clean; commit or remove what git status shows:\n M CHANGES.md")
    for heading, reason in (("## 0.2.0 (not released yet)", "the first entry of CHANGES.md is '## 0.2.0 (not released yet)'"),
                            ("## 0.2.0 (2026-02-30)", "does not exist"), ("## 0.2.0 (2999-01-01)", "in the future")):
        repository.write("CHANGES.md", CHANGES.replace("## 0.2.0 (2026-01-31)", heading))
        repository.commit()
        repository.refuses(("0.2.0",), reason)
    repository.write("CHANGES.md", CHANGES.replace("- **New.** Something.\n", ""))
    repository.commit()
    repository.refuses(("0.2.0",), "lists no change")
    repository.write("CHANGES.md", CHANGES)
    repository.commit()
    repository.git("tag", "v0.10.0")
    repository.refuses(("0.2.0",), "0.2.0 is less than 0.10.0")
    repository.git("tag", "--delete", "v0.10.0")
    repository.git("checkout", "--quiet", "--detach")
    repository.refuses(("0.2.0",), "no branch is checked out")
    repository.git("checkout", "--quiet", "main")

    before = repository.git("rev-parse", "HEAD")
    done = repository.release("0.2.0")
    check(done.returncode == 0, done.stdout)
    check(repository.git("rev-parse", "HEAD~1") == before and repository.git("status", "--porcelain") == "", "one commit on top")
    check(repository.git("diff", "--unified=0", "HEAD~1").splitlines()[-2:] == [
        "-project(cobblestone VERSION 0.1.0 LANGUAGES C CXX)", "+project(cobblestone VERSION 0.2.0 LANGUAGES C CXX)"], "the version")
    check(repository.git("cat-file", "-t", "v0.2.0") == "tag" and repository.git("rev-parse", "v0.2.0^{}", "HEAD").split("\n")[0]
          == repository.git("rev-parse", "HEAD"), "the tag is of the commit")
    message = repository.git("tag", "--list", "--format=%(contents)", "v0.2.0")
    check("## 0.2.0" in message and "Something." in message and "0.1.0" not in message, f"the tag has the changes: {message}")
    out = os.path.join(repository.folder, "build/release-0.2.0")
    files = {"cobblestone_0.2.0-1~deb12_amd64.deb", "cobblestone-0.2.0.tar.gz", "cobblestone-0.2.0.changes.md", "SHA256SUMS"}
    check(set(os.listdir(out)) == files, f"files: {os.listdir(out)}")
    subprocess.run(["sha256sum", "--check", "--quiet", "--strict", "SHA256SUMS"], cwd=out, check=True)
    with open(os.path.join(out, "SHA256SUMS")) as sums:
        check({line.split()[1] for line in sums} == files - {"SHA256SUMS"}, "checksums of all files")
    with tarfile.open(os.path.join(out, "cobblestone-0.2.0.tar.gz")) as sources:
        names = sources.getnames()
        check("cobblestone-0.2.0/CMakeLists.txt" in names and not [name for name in names if "/build" in name], f"sources: {names}")
    done = repository.release("0.2.0")
    check(done.returncode == 1 and "there is a tag v0.2.0 already" in done.stdout, f"released twice: {done.stdout}")
