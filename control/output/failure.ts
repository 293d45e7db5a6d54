/** The one place that turns whatever was thrown into words, a suggestion, the JSON form and the exit code. */

import {
  CairnError,
  ERROR_CODES,
  type ErrorBody,
  type ErrorCode,
  fromErrorBody,
} from "../../runtime/contracts/errors.ts";
import { systemWords } from "../../runtime/contracts/system-errors.ts";
import { parseWords } from "./parse-failure.ts";
import { visible } from "./visible.ts";

/** `locked` and `operator` are of commands that change one node after the other. */
export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  locked: 3,
  operator: 4,
  interrupted: 130,
  terminated: 143,
} as const;

export interface Failure {
  readonly exitCode: number;
  readonly body: ErrorBody;
}

/** The command was called in a way that cannot work: exit code 2. The hint names the flag that helps. */
export class UsageError extends Error {
  readonly hint: string | undefined;

  constructor(message: string, hint?: string) {
    super(message);
    this.name = "UsageError";
    this.hint = hint;
  }
}

/** The user, or the system, asked this command to end before it was done. */
export class Interrupted extends Error {
  readonly exitCode: number;

  constructor(signal: "SIGINT" | "SIGTERM" | "SIGHUP") {
    super(signal === "SIGINT" ? "The command was interrupted." : "The command was terminated.");
    this.name = "Interrupted";
    this.exitCode = signal === "SIGINT" ? EXIT.interrupted : EXIT.terminated;
  }
}

/** The output was closed by its reader (`| head`): this is not a failure, and nothing more is written. */
export class OutputClosed extends Error {
  constructor() {
    super("The output was closed");
    this.name = "OutputClosed";
  }
}

/** Without a terminal there is no prompt: the error names the flag that replaces it. */
export function needsTerminal(what: string, flag: string): UsageError {
  return new UsageError(`${what} cannot be asked for without a terminal.`, `Pass ${flag}.`);
}

/** `command` is the command as it is typed, for example `memory backup`. */
export function describeFailure(error: unknown, command?: string): Failure {
  if (error instanceof Interrupted) {
    return { exitCode: error.exitCode, body: body("RUNTIME_INTERRUPTED", error.message) };
  }
  if (error instanceof UsageError) {
    return { exitCode: EXIT.usage, body: body("RUNTIME_INVALID_REQUEST", error.message, error.hint) };
  }
  if (error instanceof CairnError) return { exitCode: EXIT.failed, body: withHint(error.toBody()) };
  if (isUsageOfFramework(error)) {
    const hint = `See \`cairn ${command ? `${command} ` : ""}--help\`.`;
    return { exitCode: EXIT.usage, body: body("RUNTIME_INVALID_REQUEST", parseWords(error.message), hint) };
  }
  const message = error instanceof Error ? error.message : String(error);
  const hint = isSystemError(error) ? systemWords(error).hint : "Set CAIRN_DEBUG=1 to see where it happened.";
  return { exitCode: EXIT.failed, body: body("RUNTIME_INTERNAL", message || "An unknown error occurred.", hint) };
}

/**
 * The words for a person; `dim` marks what matters less. Ends with a newline. A node, a provider or a tool may have written any
 * of them: no control character reaches the terminal.
 */
export function failureText(
  failure: Failure,
  mark: { error(text: string): string; dim(text: string): string },
): string {
  const { code, message, issues, hint, last_words: words = [], log } = failure.body;
  // A validation report has its issues in its text already.
  const listed = (issues ?? []).filter((issue) => !message.includes(issue.message));
  const lines = [
    `${mark.error("Error:")} ${visible(message)}`,
    ...listed.map((issue) => visible(`  - ${issue.path ? `${issue.path}: ` : ""}${issue.message}`)),
    ...(hint ? [`${mark.dim("Hint:")} ${visible(hint)}`] : []),
    ...(failure.exitCode === EXIT.usage ? [] : [mark.dim(`Code: ${visible(code)}`)]),
    ...lastWordLines(words, log ?? null, mark),
  ];
  return `${lines.join("\n")}\n`;
}

/** What a program that failed has written last, and where the rest is; below everything else. */
export function lastWordLines(
  words: readonly string[],
  log: string | null,
  mark: { dim(text: string): string },
): string[] {
  return [
    ...(words.length === 0 ? [] : [mark.dim("Its last words:"), ...words.map((line) => `  ${visible(line)}`)]),
    ...(log === null ? [] : [`${mark.dim("Log:")} ${visible(log)}`]),
  ];
}

/** An error that another process of ours sent, as if it had been thrown here. Null when it is no such thing. */
export function errorFromBody(value: unknown): CairnError | null {
  if (typeof value !== "object" || value === null || !("code" in value) || !("message" in value)) return null;
  if (typeof value.code !== "string" || typeof value.message !== "string") return null;
  // The other side is of the same package: what has a code and a message is an ErrorBody.
  return fromErrorBody(value as ErrorBody);
}

/** Hints of the command, for errors that the node sends without one. */
const HINTS: { readonly [Code in ErrorCode]?: string } = {
  RUNTIME_INTERNAL: "See `cairn logs`.",
  MEMORY_UNAVAILABLE: "Look at it with `cairn doctor --only database`.",
  RUNTIME_NOT_RUNNING: "Start a node with `cairn start --detach`.",
  RUNTIME_UNAUTHORIZED:
    "The token is SERVICE_API_TOKEN of the environment, else of .env in the deployment directory. " +
    "A node that runs has the one that it started with, until `cairn restart`.",
};

function withHint(given: ErrorBody): ErrorBody {
  const hint = given.hint ?? HINTS[given.code];
  return hint === undefined ? given : { ...given, hint };
}

function body(code: ErrorCode, message: string, hint?: string): ErrorBody {
  const { severity, retryable } = ERROR_CODES[code];
  return { code, message, severity, retryable, ...(hint ? { hint } : {}) };
}

/** oclif marks its parser's errors with exit status 2, and an unknown command as well. */
function isUsageOfFramework(error: unknown): error is Error {
  if (!(error instanceof Error) || !("oclif" in error)) return false;
  const { oclif } = error;
  return typeof oclif === "object" && oclif !== null && "exit" in oclif && oclif.exit === EXIT.usage;
}

function isSystemError(error: unknown): error is Error & { readonly code: string } {
  return error instanceof Error && "syscall" in error && "code" in error && typeof error.code === "string";
}
