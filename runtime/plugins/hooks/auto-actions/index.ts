/** Auto-actions (`runtime.auto_actions`): after the calls of a reply that changed files, the owner's commands, in the sandbox. */

import type { CommandEnd, CommandRunner } from "../../../contracts/command-runner.ts";
import { toCairnError } from "../../../contracts/errors.ts";
import type { AnyHook, Hook, HookContexts } from "../../../contracts/hooks.ts";
import type { Clock, Logger } from "../../../contracts/ports.ts";
import {
  ACTION_TIMEOUTS,
  type ActionEnd,
  type AutoAction,
  type AutoActionSettings,
  actionsFor,
  renderActions,
} from "../../../domain/auto-actions.ts";
import { excluding, gitStatus } from "../../../domain/workspace-git.ts";
import type { AuditLog } from "../safety/index.ts";
import type { AutoCommitDeps } from "./auto-commit.ts";
import type { FileGate } from "./file-gate.ts";

export { createAutoCommitHooks } from "./auto-commit.ts";

/** `runtime.auto_actions` of the configuration. */
export interface AutoActionDeps {
  readonly settings: AutoActionSettings & Pick<AutoCommitDeps, "commit">;
  readonly runCommand: CommandRunner;
  readonly gate: FileGate;
  /** Null where it is switched off. */
  readonly audit: AuditLog | null;
  readonly clock: Pick<Clock, "monotonic">;
  readonly logger: Logger;
}

/** Bytes of each command's output that the model reads. */
const MAX_OUTPUT_BYTES = 8_192;
/** Behind the audit log, whose line of the result is the tool's own. */
const PRIORITY = 95;
/** For what is beside the commands. */
const SLACK_MS = 30_000;

type Context = HookContexts["tool:after"];

/** Nothing where all are off. */
export function createAutoActionHooks(deps: AutoActionDeps): AnyHook[] {
  const { gate, audit, clock, logger } = deps;
  const { commit: _, ...settings } = deps.settings;
  if (Object.values(settings).every((setting) => setting === false)) return [];

  async function run(action: AutoAction, context: Context, signal?: AbortSignal): Promise<ActionEnd> {
    const { name, command, timeoutMs } = action;
    const started = clock.monotonic();
    const { workspace } = context;
    const options = { workspace, timeoutMs, maxOutputBytes: MAX_OUTPUT_BYTES, ...(signal ? { signal } : {}) };
    const ended = await deps.runCommand(command, options).catch((error: unknown) => notRun(error, logger));
    await audit?.record("auto_action", context, {
      action: name,
      command,
      end: ended.end,
      exit_code: ended.exitCode,
      duration_ms: Math.round(clock.monotonic() - started),
      result: ended.output,
    });
    // The turn ends; what was run is in the audit log.
    if (ended.end === "aborted") throw signal?.reason;
    return { name, ...ended, end: ended.end };
  }

  const hook: Hook<"tool:after"> = {
    name: "auto_actions",
    event: "tool:after",
    priority: PRIORITY,
    policy: "open",
    deadlineMs: Object.values(ACTION_TIMEOUTS).reduce((sum, one) => sum + one, SLACK_MS),
    async run(context, signal) {
      const { changedFiles, workspace, owner, result } = context;
      // Others have not been given the shell by these settings: what they write would be run.
      if (!owner || changedFiles.length === 0) return;
      const { root } = await gate.locate(workspace, ".");
      const located = await Promise.all(changedFiles.map((path) => gate.locate(workspace, path).catch(() => null)));
      const files = located.flatMap((file) => (file?.exists ? [file.display] : []));
      const status = gitStatus(excluding(root, await gate.protectedBelow(root)));
      const ends: ActionEnd[] = [];
      for (const action of actionsFor(settings, [...new Set(files)], status)) {
        ends.push(await run(action, context, signal));
      }
      const shown = renderActions(ends);
      if (shown === "") return;
      return { ...context, result: { ...result, content: `${result.content}\n\n${shown}` } };
    },
  };
  return [hook];
}

function notRun(error: unknown, logger: Logger): Omit<CommandEnd, "end"> & { readonly end: "not run" } {
  const { code, message } = toCairnError(error);
  logger.warn({ err: error, code }, "an auto-action could not be run");
  return { end: "not run", exitCode: null, output: `${code}: ${message}` };
}
