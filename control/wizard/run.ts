/** What the commands `init` and `config` have in common: from their flags to a setup. */
import { homedir } from "node:os";
import process from "node:process";
import { resolveDirectories } from "../../runtime/config/index.ts";
import { ConfigError } from "../../runtime/contracts/errors.ts";
import type { Terminal } from "../output/terminal.ts";
import { type Dialog, unattended } from "./dialog.ts";
import { type InitResult, initialize } from "./init.ts";
import { readAnswersFile } from "./parse-answers.ts";

export interface SetupRequest {
  readonly purpose: "create" | "change";
  readonly flags: Readonly<Record<string, unknown>>;
  readonly terminal: Terminal;
  /** True where the one document of `--json` is all that is printed. */
  readonly json: boolean;
  readonly signal: AbortSignal;
}

/** Errors of `initialize`, and of `readAnswersFile`; CONFIG_UNREADABLE where there is nothing to change. */
export async function runSetup({ purpose, flags, terminal, json, signal }: SetupRequest): Promise<InitResult> {
  const directories = resolveDirectories({
    flags: { dir: text(flags["dir"]) },
    env: process.env,
    cwd: process.cwd(),
    homedir: homedir(),
  });
  if (purpose === "change" && !directories.exists) {
    throw new ConfigError("CONFIG_UNREADABLE", `There is no configuration at ${directories.file}.`, {
      hint: "Make one with `cairn init`.",
    });
  }
  const file = text(flags["answers"]);
  const resume = flags["resume"];
  return initialize({
    directories,
    env: process.env,
    purpose,
    flags,
    answers: file === undefined ? {} : await readAnswersFile(file),
    force: flags["force"] === true,
    ...(typeof resume === "boolean" ? { resume } : {}),
    dialog: await chooseDialog(flags, terminal, json, signal),
    signal,
  });
}

/** Whether there is a person to ask. */
export function asksQuestions(flags: SetupRequest["flags"], terminal: Terminal, json: boolean): boolean {
  const answered = flags["yes"] === true || flags["answers"] !== undefined;
  return !answered && !json && terminal.inIsTerminal && terminal.errIsTerminal;
}

/** No questions with `--yes` or a file of answers, nor with `--json`, whose output is one document. */
async function chooseDialog(
  flags: SetupRequest["flags"],
  terminal: Terminal,
  json: boolean,
  signal: AbortSignal,
): Promise<Dialog> {
  if (flags["yes"] === true || flags["answers"] !== undefined) return unattended({ lenient: true });
  const strict = unattended({ lenient: false });
  if (!asksQuestions(flags, terminal, json)) return strict;
  const { terminalDialog } = await import("./prompts/terminal-dialog.ts");
  return terminalDialog({ terminal, env: process.env, signal }) ?? strict;
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
