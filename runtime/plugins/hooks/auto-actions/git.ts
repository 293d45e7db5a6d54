/**
 * git in a workspace, whose configuration is the agent's to write: hooks, signing, file watchers and the configuration of user and
 * machine are left out, and the repository is the one in the workspace itself, wherever its configuration points. It runs in the sandbox
 * all the same: what a repository's filters do is code of the workspace.
 */

import { relative } from "node:path";
import { shellQuote } from "../../../contracts/shell-quote.ts";
import { NO_REPOSITORY } from "../../../domain/auto-actions.ts";

const ENVIRONMENT =
  "export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_DIR=.git GIT_WORK_TREE=. GIT_TERMINAL_PROMPT=0 GIT_EDITOR=false";
const OPTIONS = [
  "core.hooksPath=/dev/null",
  "core.fsmonitor=false",
  "commit.gpgSign=false",
  "gc.auto=0",
  "maintenance.auto=false",
  "diff.ignoreSubmodules=all",
]
  .map((option) => `-c ${option}`)
  .join(" ");

/** A link or a file in its place would lead to a repository elsewhere. */
const IS_REPOSITORY = `[ -d .git ] && [ ! -L .git ] || exit ${NO_REPOSITORY}`;

/** What a script begins with; `git` of it is the command with its options. */
const PRELUDE = [ENVIRONMENT, IS_REPOSITORY, `git() { command git ${OPTIONS} "$@"; }`].join("\n");

export function gitStatus(excluded: string): string {
  return `${PRELUDE}\nGIT_OPTIONAL_LOCKS=0 git status --porcelain=v1 -- . ${excluded}`;
}

/** Exits as COMMIT_ENDS says. Filters would change what is stored, by programs that the repository names. */
export function gitCommit({ agent, excluded }: { readonly agent: string; readonly excluded: string }): string {
  const name = shellQuote(`Cairn (${agent})`);
  return [
    PRELUDE,
    `export GIT_AUTHOR_NAME=${name} GIT_AUTHOR_EMAIL=cairn@localhost GIT_COMMITTER_NAME=${name} GIT_COMMITTER_EMAIL=cairn@localhost`,
    "for name in MERGE_HEAD CHERRY_PICK_HEAD REVERT_HEAD rebase-merge rebase-apply BISECT_LOG; do",
    '  if [ -e ".git/$name" ]; then exit 72; fi',
    "done",
    "if git config --get-regexp '^filter\\..*\\.(clean|process)$' > /dev/null; then exit 71; fi",
    `git add -A -- . ${excluded} || exit 1`,
    "if git diff --cached --quiet --no-ext-diff --no-textconv; then exit 73; fi",
    `git commit -q --no-verify --no-gpg-sign -m ${shellQuote(`Changes by the agent ${agent}`)} || exit 1`,
  ].join("\n");
}

/** Pathspecs that leave the service's own files out; `root` and `protectedPaths` are resolved. */
export function excluding(root: string, protectedPaths: readonly string[]): string {
  return protectedPaths.map((path) => shellQuote(`:(exclude,literal)${relative(root, path)}`)).join(" ");
}
