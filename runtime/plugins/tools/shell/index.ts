/** shell: a command line run by the shell, inside the sandbox, with a deadline, in the workspace. */

import { stat } from "node:fs/promises";
import { ToolError } from "../../../contracts/errors.ts";
import type { Logger, NewId } from "../../../contracts/ports.ts";
import type { Tool, ToolResult } from "../../../contracts/tool.ts";
import { optionalInteger, optionalString, requireContext, stringArgument } from "../shared/arguments.ts";
import type { WorkspaceGate } from "../shared/locate.ts";
import { type CommandOutcome, readableOutput, runCommand } from "./run-command.ts";
import { createSandbox } from "./sandbox.ts";
import type { ShellSettings } from "./settings.ts";

export interface ShellToolDeps {
  readonly gate: WorkspaceGate;
  readonly settings: ShellSettings;
  /** Whether the service runs in a container of its own, which then counts as the sandbox. */
  readonly container: boolean;
  /** The service's files and directories: never visible inside the sandbox. */
  readonly protectedPaths: readonly string[];
  /** A directory of the service's own, which commands cannot reach. */
  readonly stateDirectory: string;
  /** The service's environment; only PATH, HOME, the language and the time zone are ever taken from it. */
  readonly hostEnv: Readonly<Record<string, string | undefined>>;
  readonly newId: NewId;
  readonly logger: Logger;
}

/** One argument of a program may have 128 KiB on Linux. */
const MAX_COMMAND_CHARS = 100_000;

export function createShellTool(deps: ShellToolDeps): Tool {
  const { settings } = deps;
  const sandbox = createSandbox(deps);
  const defaultS = Math.ceil(settings.timeoutMs / 1_000);
  const maxS = Math.ceil(settings.maxTimeoutMs / 1_000);
  return {
    name: "shell",
    description: [
      "Run a command line with the shell, in the workspace. Standard output and error come together; input is closed.",
      "Background processes end with the command. Each call starts afresh: a change of directory or a variable does not last.",
      describePlace(settings),
    ]
      .filter((sentence) => sentence !== "")
      .join(" "),
    parameters: {
      type: "object",
      properties: {
        command: { type: "string", minLength: 1, maxLength: MAX_COMMAND_CHARS, description: "The command line." },
        cwd: {
          type: "string",
          description: "Directory to run in, inside the workspace; default the workspace itself.",
        },
        timeout_s: {
          type: "integer",
          minimum: 1,
          maximum: maxS,
          description: `Seconds until it is ended; default ${defaultS}, at most ${maxS}.`,
        },
      },
      required: ["command"],
      additionalProperties: false,
    },
    pathArguments: ["cwd"],
    async execute(args, signal, context) {
      const { workspace, owner } = requireContext(context);
      const command = stringArgument(args, "command");
      if (command.includes("\0")) throw new ToolError("TOOL_INVALID_ARGUMENTS", "The command holds a NUL byte.");
      const timeoutS = optionalInteger(args, "timeout_s", 1, maxS) ?? defaultS;
      const cwd = await deps.gate.locate(workspace, optionalString(args, "cwd") ?? ".");
      if (!cwd.exists || !(await stat(cwd.path)).isDirectory()) {
        throw new ToolError("TOOL_INVALID_ARGUMENTS", `${cwd.display}: it is not a directory of the workspace.`);
      }
      if (signal?.aborted) throw aborted();
      const launch = await sandbox.launch(command, {
        workspace: { named: workspace, resolved: cwd.root },
        cwd: cwd.path,
        owner,
        network: settings.network && (owner || settings.networkForOthers),
      });
      const outcome = await runCommand(launch, {
        timeoutMs: timeoutS * 1_000,
        killGraceMs: settings.killGraceMs,
        maxOutputBytes: settings.maxOutputBytes,
        mark: deps.newId(),
        ...(signal ? { signal } : {}),
      }).catch((cause: unknown) => {
        throw new ToolError("TOOL_FAILED", "The command could not be started.", { cause });
      });
      if (outcome.end === "aborted") throw aborted();
      if (outcome.launcherError !== "") {
        deps.logger.warn(
          { exitCode: outcome.exitCode, said: outcome.launcherError },
          "the shell's launcher reported an error",
        );
      }
      return render(outcome, timeoutS);
    },
  };
}

function aborted(): ToolError {
  return new ToolError("TOOL_ABORTED", "The command was stopped before it had ended.");
}

function describePlace(settings: ShellSettings): string {
  if (settings.sandbox === "none") return "";
  const open = settings.networkForOthers
    ? "the network can be reached"
    : "only in turns of the owner is there a network";
  const network = settings.network ? open : "there is no network";
  return `It runs in a sandbox: keep files in the workspace, /tmp and the home directory may be emptied after each call; ${network}.`;
}

/** First line: how it ended; then the output. A command that failed is an error result: the model should notice. */
function render(outcome: CommandOutcome, timeoutS: number): ToolResult {
  const output = readableOutput(outcome);
  const body = output === "" ? "(no output)" : output;
  if (outcome.end === "timeout") {
    return {
      content: `The command did not end within ${timeoutS} s and was killed with all its children.\n${body}`,
      isError: true,
    };
  }
  const ending = outcome.signal === null ? `exit code: ${outcome.exitCode}` : `killed by signal: ${outcome.signal}`;
  return { content: `${ending}\n${body}`, ...(outcome.exitCode === 0 ? {} : { isError: true }) };
}
