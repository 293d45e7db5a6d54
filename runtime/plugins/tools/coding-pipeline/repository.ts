/** The repository that a pipeline changes: what its working tree holds, what has changed since, and how its checks end. */

import { join } from "node:path";
import type { CommandEnd, CommandRunner } from "../../../contracts/command-runner.ts";
import { ToolError } from "../../../contracts/errors.ts";
import { shellQuote } from "../../../contracts/shell-quote.ts";
import { codeOf } from "../../../contracts/system-errors.ts";
import { COMMIT_ENDS, NO_REPOSITORY } from "../../../domain/auto-actions.ts";
import type { CheckEnd } from "../../../domain/coding-stages.ts";
import { PROJECT_FILES, type ProjectFile, projectChecks } from "../../../domain/project-checks.ts";
import { excluding, gitChanges, gitSnapshot } from "../../../domain/workspace-git.ts";
import type { WorkspaceGate } from "../shared/locate.ts";
import { readText, withParent } from "../shared/read-text.ts";

export interface RepositoryDeps {
  readonly gate: WorkspaceGate;
  readonly runCommand: CommandRunner;
  readonly workspace: string;
  /** In the workspace. */
  readonly path: string;
  readonly signal?: AbortSignal | undefined;
}

export interface Repository {
  /** As the model reads it. */
  readonly display: string;
  /** TOOL_REFUSED where it is no repository, or a merge is under way. */
  snapshot(): Promise<{ readonly tree: string; readonly uncommitted: string }>;
  /** Which files have changed since the tree, and all that has. TOOL_REFUSED where git cannot say. */
  changesSince(tree: string): Promise<{ readonly files: string; readonly diff: string }>;
  /** One after the other, all of them, until the time is over. */
  check(commands: readonly string[], timeoutMs: number): Promise<readonly CheckEnd[]>;
  /** Commands by which the project checks itself. */
  findChecks(): Promise<readonly string[]>;
}

const GIT_TIMEOUT_MS = 60_000;
const MAX_STAT_BYTES = 8_192;
const MAX_DIFF_BYTES = 40_000;
/** Of each check: half from the beginning, half from the end. */
const MAX_CHECK_BYTES = 12_000;
const MAX_PROJECT_FILE = 1024 * 1024;

export async function openRepository({
  gate,
  runCommand,
  workspace,
  path,
  signal,
}: RepositoryDeps): Promise<Repository> {
  const located = await gate.locate(workspace, path);
  if (!located.exists) throw new ToolError("TOOL_INVALID_ARGUMENTS", `${located.display}: there is no such directory.`);
  const excluded = excluding(located.path, await gate.protectedBelow(located.path));

  async function run(script: string, timeoutMs: number, maxOutputBytes: number): Promise<CommandEnd> {
    const command = `cd ${shellQuote(`./${located.display}`)} || exit 1\n${script}`;
    const ended = await runCommand(command, { workspace, timeoutMs, maxOutputBytes, ...(signal ? { signal } : {}) });
    if (ended.end === "aborted") {
      throw new ToolError("TOOL_ABORTED", "The pipeline was stopped; the working tree is left as it is.");
    }
    return ended;
  }

  async function git(script: string, maxOutputBytes: number): Promise<string> {
    const { end, exitCode, output } = await run(script, GIT_TIMEOUT_MS, maxOutputBytes);
    if (end === "exited" && exitCode === 0) return output;
    const why =
      end === "timeout" ? "git took too long" : (COMMIT_ENDS[exitCode ?? -1] ?? `git has failed: ${output.trimEnd()}`);
    const hint = "The path has to be the topmost directory of a git repository in the workspace.";
    throw new ToolError("TOOL_REFUSED", `${located.display}: ${why}`, exitCode === NO_REPOSITORY ? { hint } : {});
  }

  async function snapshot() {
    const output = await git(gitSnapshot(excluded), MAX_STAT_BYTES);
    const [, tree, uncommitted = ""] = /^tree ([0-9a-f]{40,64})(?:\n([\s\S]*))?$/m.exec(output) ?? [];
    if (tree === undefined)
      throw new ToolError("TOOL_FAILED", `${located.display}: what git has printed cannot be read: ${output}`);
    return { tree, uncommitted: uncommitted.trimEnd() };
  }

  async function textOf(name: ProjectFile): Promise<readonly [ProjectFile, string] | null> {
    try {
      const file = await gate.locate(workspace, join(located.display, name));
      if (!file.exists) return null;
      const { text } = await withParent(file, false, (directory, entry) =>
        readText(gate, directory, entry, file, MAX_PROJECT_FILE, signal),
      );
      return [name, text];
    } catch (error) {
      // What cannot be read says nothing of the project.
      if (error instanceof ToolError || codeOf(error) === "ENOENT") return null;
      throw error;
    }
  }

  return {
    display: located.display,
    snapshot,
    async changesSince(tree) {
      const now = await snapshot();
      if (now.tree === tree) return { files: "", diff: "" };
      const files = await git(gitChanges(tree, now.tree, "files"), MAX_STAT_BYTES);
      return { files, diff: await git(gitChanges(tree, now.tree, "all"), MAX_DIFF_BYTES) };
    },
    async check(commands, timeoutMs) {
      const until = performance.now() + timeoutMs;
      const ends: CheckEnd[] = [];
      for (const command of commands) {
        const remainingMs = until - performance.now();
        if (remainingMs <= 0) {
          ends.push({ command, end: "not run", exitCode: null, output: "" });
          continue;
        }
        const { end, exitCode, output } = await run(command, remainingMs, MAX_CHECK_BYTES);
        ends.push({ command, end: end === "timeout" ? "timeout" : "exited", exitCode, output });
      }
      return ends;
    },
    async findChecks() {
      const files = await Promise.all(PROJECT_FILES.map(textOf));
      return projectChecks(new Map(files.filter((file) => file !== null)));
    },
  };
}
