/** Runs commands of the service itself as those of the shell tool in the owner's turns are run. */

import type { CommandRunner } from "../../../contracts/command-runner.ts";
import { ToolError } from "../../../contracts/errors.ts";
import type { ShellToolDeps } from "./index.ts";
import { readableOutput, runCommand } from "./run-command.ts";
import { createSandbox } from "./sandbox.ts";

export type { CommandRunner } from "../../../contracts/command-runner.ts";

/** Nothing is probed before the first command. */
export function createCommandRunner(deps: ShellToolDeps): CommandRunner {
  const { settings, gate, newId } = deps;
  const sandbox = createSandbox(deps);
  return async (command, { workspace, timeoutMs, maxOutputBytes, signal }) => {
    const { root } = await gate.locate(workspace, ".");
    signal?.throwIfAborted();
    const launch = await sandbox.launch(command, {
      workspace: { named: workspace, resolved: root },
      cwd: root,
      owner: true,
      network: settings.network,
    });
    const outcome = await runCommand(launch, {
      timeoutMs,
      maxOutputBytes,
      killGraceMs: settings.killGraceMs,
      mark: newId(),
      ...(signal ? { signal } : {}),
    }).catch((cause: unknown) => {
      throw new ToolError("TOOL_FAILED", "The command could not be started.", { cause });
    });
    return { end: outcome.end, exitCode: outcome.exitCode, output: readableOutput(outcome) };
  };
}
