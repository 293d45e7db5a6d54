/** Commits the workspace at the end of the owner's turns or sessions, where it is a repository; in the background, one after the other. */

import type { CommandRunner } from "../../../contracts/command-runner.ts";
import type { AnyHook, SessionInfo } from "../../../contracts/hooks.ts";
import type { Clock, Logger } from "../../../contracts/ports.ts";
import { COMMIT_ENDS } from "../../../domain/auto-actions.ts";
import { excluding, gitCommit } from "../../../domain/workspace-git.ts";
import type { AuditLog } from "../safety/index.ts";
import type { FileGate } from "./file-gate.ts";

export interface AutoCommitDeps {
  readonly commit: "off" | "session" | "turn";
  readonly runCommand: CommandRunner;
  readonly gate: FileGate;
  /** Null where it is switched off. */
  readonly audit: AuditLog | null;
  /** Owns what is under way when the node stops. */
  readonly background: { run(name: string, work: () => Promise<unknown>): void };
  /** Aborts when the node stops. */
  readonly stopping: AbortSignal;
  readonly clock: Pick<Clock, "monotonic">;
  readonly logger: Logger;
}

const TIMEOUT_MS = 60_000;
const MAX_OUTPUT_BYTES = 4_096;
const PRIORITY = 60;

export function createAutoCommitHooks(deps: AutoCommitDeps): AnyHook[] {
  const { gate, audit, background, stopping, clock, logger } = deps;
  /** Workspaces whose commit has not begun: it takes what is changed until then. */
  const waiting = new Set<string>();
  let last: Promise<unknown> = Promise.resolve();

  async function commit(context: SessionInfo): Promise<void> {
    const { workspace, agent } = context;
    const started = clock.monotonic();
    const { root } = await gate.locate(workspace, ".");
    const command = gitCommit({ agent, excluded: excluding(root, await gate.protectedBelow(root)) });
    const options = { workspace, timeoutMs: TIMEOUT_MS, maxOutputBytes: MAX_OUTPUT_BYTES, signal: stopping };
    const { end, exitCode, output } = await deps.runCommand(command, options);
    const outcome = end === "exited" ? (COMMIT_ENDS[exitCode ?? -1] ?? "failed") : end;
    // Nothing was there to do.
    if (outcome === "no repository" || outcome === "nothing changed") return;
    if (outcome !== "committed") logger.warn({ agent, workspace, outcome, output }, "a workspace was not committed");
    const duration = Math.round(clock.monotonic() - started);
    await audit?.action(context, {
      action: "commit",
      outcome,
      exit_code: exitCode,
      duration_ms: duration,
      result: output,
    });
  }

  async function schedule(context: SessionInfo): Promise<void> {
    const { workspace, owner } = context;
    if (!owner || waiting.has(workspace)) return;
    waiting.add(workspace);
    const turn = last.then(async () => {
      waiting.delete(workspace);
      if (!stopping.aborted) await commit(context);
    });
    last = turn.catch(() => undefined);
    background.run("auto-commit", () => turn);
  }

  const hook = { name: "auto_commit", priority: PRIORITY } as const;
  switch (deps.commit) {
    case "off":
      return [];
    case "session":
      return [{ ...hook, event: "session:end", run: schedule }];
    case "turn":
      return [{ ...hook, event: "turn:reflect", run: schedule }];
  }
}
