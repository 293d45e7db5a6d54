/**
 * git in a workspace, whose configuration is the agent's to write: hooks, signing, file watchers and the configuration of user and
 * machine are left out, nothing is fetched, and the repository is the one in the workspace itself, wherever its configuration points.
 * Programs that cannot be left out are a reason to do nothing. It runs in the sandbox all the same, which bounds what `include.path`,
 * alternates and links below `.git` can lead to, and the filters of a submodule, which a commit runs. Pure.
 */

import { relative } from "node:path";
import { shellQuote } from "../contracts/shell-quote.ts";
import { NO_REPOSITORY } from "./auto-actions.ts";

/** Where objects are missing git would fetch them, by programs that the repository names: no protocol is allowed. */
const ENVIRONMENT =
  "export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_DIR=.git GIT_WORK_TREE=. GIT_TERMINAL_PROMPT=0 GIT_EDITOR=false " +
  "GIT_PAGER=cat GIT_NO_LAZY_FETCH=1 GIT_ALLOW_PROTOCOL=none";
const OPTIONS = [
  "core.hooksPath=/dev/null",
  "core.fsmonitor=false",
  "commit.gpgSign=false",
  "gc.auto=0",
  "maintenance.auto=false",
  "diff.ignoreSubmodules=dirty",
  "status.submoduleSummary=false",
  "submodule.recurse=false",
]
  .map((option) => `-c ${option}`)
  .join(" ");

/** A link or a file in its place, or `commondir`, would lead to a repository elsewhere. */
const IS_REPOSITORY = `[ -d .git ] && [ ! -L .git ] && [ ! -e .git/commondir ] && [ ! -L .git/commondir ] || exit ${NO_REPOSITORY}`;

/** What a script begins with; `git` of it is the command with its options. */
const PRELUDE = [ENVIRONMENT, IS_REPOSITORY, `git() { command git ${OPTIONS} "$@"; }`].join("\n");

/** Exits as COMMIT_ENDS says. */
export function gitStatus(excluded: string): string {
  // The option counts more than .gitmodules, which may ask for the status of a submodule, with that one's filters.
  const status = `GIT_OPTIONAL_LOCKS=0 git status --porcelain=v1 --ignore-submodules=all -- . ${excluded}`;
  return [PRELUDE, noPrograms(excluded), status].join("\n");
}

/** Exits as COMMIT_ENDS says. */
export function gitCommit({ agent, excluded }: { readonly agent: string; readonly excluded: string }): string {
  const name = shellQuote(`Cairn (${agent})`);
  return [
    PRELUDE,
    `export GIT_AUTHOR_NAME=${name} GIT_AUTHOR_EMAIL=cairn@localhost GIT_COMMITTER_NAME=${name} GIT_COMMITTER_EMAIL=cairn@localhost`,
    IN_PROGRESS,
    noPrograms(excluded),
    `git add -A -- . ${excluded} || exit 1`,
    // The option counts more than .gitmodules, which may leave submodules out; the working tree of none is read.
    "if git diff --cached --quiet --ignore-submodules=none --no-ext-diff --no-textconv; then exit 73; fi",
    `git commit -q --no-verify -m ${shellQuote(`Changes by the agent ${agent}`)} || exit 1`,
  ].join("\n");
}

const IN_PROGRESS = [
  "for name in MERGE_HEAD CHERRY_PICK_HEAD REVERT_HEAD rebase-merge rebase-apply BISECT_LOG; do",
  '  if [ -e ".git/$name" ]; then exit 72; fi',
  "done",
].join("\n");

/**
 * Filters, and hooks that newer versions of git take from the configuration, whatever `core.hooksPath` is. Also a filter that a file
 * has by its attributes alone: the configuration of the user may have its programs, as that of Git LFS, and without them git would
 * store the file itself in place of a pointer. `filter` and `-filter` without a value name none.
 */
function noPrograms(excluded: string): string {
  const attributes = `git ls-files -co --exclude-standard -z -- . ${excluded} 2> /dev/null | git check-attr --stdin -z filter 2> /dev/null`;
  const values = "tr '\\n\\0' ' \\n' | sed -n 'n;n;p'";
  return [
    "if git config --get-regexp '^(filter\\..*\\.(clean|process)|hook\\..*\\.command)$' > /dev/null; then exit 71; fi",
    `if ${attributes} | (export LC_ALL=C; ${values} | grep -qvxE 'unspecified|unset|set'); then exit 71; fi`,
  ].join("\n");
}

/** git would look into another repository inside with that one's configuration, and a tree holds no more of it than a commit's id. */
const NO_OTHER_REPOSITORY = [
  'run git ls-files --stage > "$folder/files" || exit 1',
  "if grep -q '^160000 ' \"$folder/files\"; then exit 74; fi",
].join("\n");

/** Warnings are no output; of what fails the last lines are. */
const RUN = 'run() { "$@" 2> "$folder/errors" || { tail -n 5 "$folder/errors" >&2; return 1; }; }';

/**
 * Prints `tree`, the id of a tree with the working tree as it is now, and behind it up to 20 lines of what is uncommitted. Neither the
 * index nor a branch changes, and no program of the repository runs. Exits as COMMIT_ENDS says.
 */
export function gitSnapshot(excluded: string): string {
  return [
    PRELUDE,
    IN_PROGRESS,
    noPrograms(excluded),
    "folder=$(mktemp -d) || exit 1; trap 'rm -rf \"$folder\"' EXIT",
    RUN,
    'if [ -f .git/index ]; then cp .git/index "$folder/index" || exit 1; fi',
    'export GIT_INDEX_FILE="$folder/index"',
    NO_OTHER_REPOSITORY,
    `run git status --porcelain=v1 --untracked-files=normal --ignore-submodules=all -- . ${excluded} > "$folder/status" || exit 1`,
    `run git add -A -- . ${excluded} || exit 1`,
    NO_OTHER_REPOSITORY,
    "tree=$(run git write-tree) || exit 1",
    'printf \'tree %s\\n\' "$tree"; head -n 20 "$folder/status"',
  ].join("\n");
}

/** What has changed between two trees: which files, or all of it. */
export function gitChanges(from: string, to: string, shown: "files" | "all"): string {
  const format = shown === "files" ? "--stat=100" : "--patch";
  return `${PRELUDE}\ngit diff-tree -r -M --no-color --no-ext-diff --no-textconv ${format} ${shellQuote(from)} ${shellQuote(to)}`;
}

/** Pathspecs that leave the service's own files out; `root` and `protectedPaths` are resolved. */
export function excluding(root: string, protectedPaths: readonly string[]): string {
  return protectedPaths.map((path) => shellQuote(`:(exclude,literal)${relative(root, path)}`)).join(" ");
}
