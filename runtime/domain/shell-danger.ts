/**
 * Decides whether a shell command may run: a guard rail against mistakes and the plainer attacks, in front of the sandbox,
 * which is the wall. The command is parsed by a shell parser, and each command in it judged (domain/shell); what a run
 * would compute is asked about where it matters.
 */

import type { Finding } from "./shell/inspection.ts";
import { readScript } from "./shell/reader.ts";
import { WRITTEN_MARK } from "./shell/values.ts";

export type SafetyDecision =
  | { readonly action: "allow" }
  /** Known to be dangerous. */
  | { readonly action: "refuse"; readonly reason: string }
  /** Only a person can decide. */
  | { readonly action: "ask"; readonly reason: string };

export interface ShellPlace {
  /** Absolute path of the workspace. */
  readonly workspace: string;
  /** Absolute path of the directory in which the command starts. */
  readonly directory: string;
}

/** Pure, and bounded in time for a command of any length. A refusal outweighs a question. */
export function checkShellCommand(command: string, { workspace, directory }: ShellPlace): SafetyDecision {
  const findings = findingsOf(command, directory, workspace);
  const worst = findings.find(({ action }) => action === "refuse") ?? findings[0];
  return worst ? { action: worst.action, reason: worst.reason } : { action: "allow" };
}

function findingsOf(command: string, directory: string, workspace: string): readonly Finding[] {
  if (WRITTEN_MARK.test(command)) return [{ action: "ask", reason: "the command holds characters for private use" }];
  try {
    return readScript(command, directory, workspace);
  } catch (error) {
    // The stack has an end, and a command can be made to reach it.
    if (error instanceof RangeError) return [{ action: "ask", reason: "the command is too intricate to be judged" }];
    throw error;
  }
}
