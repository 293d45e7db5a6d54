/** Commands that the service runs for itself in a workspace of the owner, in the sandbox that the shell tool's commands have. */

export interface CommandRun {
  /** Absolute path of the workspace, where it runs. */
  readonly workspace: string;
  readonly timeoutMs: number;
  /** Bytes of output that are kept: half from the beginning, half from the end. */
  readonly maxOutputBytes: number;
  readonly signal?: AbortSignal;
}

export interface CommandEnd {
  readonly end: "exited" | "timeout" | "aborted";
  /** Null where it was ended by a signal. */
  readonly exitCode: number | null;
  /** Standard output and error together. */
  readonly output: string;
}

/** TOOL_SANDBOX_MISSING where commands cannot be run safely; TOOL_FAILED where it could not be started. */
export type CommandRunner = (command: string, run: CommandRun) => Promise<CommandEnd>;
