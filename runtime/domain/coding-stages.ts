/** What the stages of the coding pipeline are told, and how their words are read. Pure. */

import { cap } from "./cap.ts";
import { markedFence } from "./marked-fence.ts";
import { fenceable } from "./prompt-data.ts";

export interface CodingTask {
  readonly task: string;
  /** Directory of the repository in the workspace; `.` for the workspace itself. */
  readonly path: string;
  readonly checks: readonly string[];
}

export interface CheckEnd {
  readonly command: string;
  /** `not run`: there was no time left, or it could not be started. */
  readonly end: "exited" | "timeout" | "not run";
  readonly exitCode: number | null;
  readonly output: string;
}

/** Tools of the stages that read; those that edit have two more. */
export const READING_TOOLS = ["file_read", "search_glob", "search_grep"] as const;
export const WRITING_TOOLS = ["file_write", "file_edit"] as const;

const MAX_PLAN = 12_000;
const MAX_FINDINGS = 24_000;
const MAX_DIFF = 30_000;
const NAME = "data";

export const hasPassed = ({ end, exitCode }: CheckEnd): boolean => end === "exited" && exitCode === 0;

export function planPrompt({ task, path, checks }: CodingTask): string {
  return [
    "You plan a change to a git repository; another one will make it. Read what you need, and change nothing.",
    where(path),
    `The change is checked by: ${checks.join("; ")}`,
    "Reply with the plan alone: which files, what changes in each, and what could go wrong. Be short.",
    `The task:\n${task}`,
  ].join("\n\n");
}

/** `findings`: of the round before, what failed or what the review wants; null in the first round. */
export function editPrompt(coding: CodingTask, plan: string, findings: string | null, mark: string): string {
  return [
    "You make a change to a git repository, with the file tools. Nothing can be run: the checks are run when you have replied.",
    where(coding.path),
    `The checks: ${coding.checks.join("; ")}`,
    `The task:\n${coding.task}`,
    `A plan, made before:\n${data(cap(plan, MAX_PLAN).text, "a sub-agent", mark)}`,
    ...(findings === null
      ? []
      : [
          "An earlier round has edited the files already; its work is in the working tree. It was not enough. Mend what follows, by " +
            `the task and not by switching checks off:\n${data(cap(findings, MAX_FINDINGS).text, "programs and a sub-agent", mark)}`,
        ]),
    "Reply in a few sentences with what you have changed.",
  ].join("\n\n");
}

export function reviewPrompt(coding: CodingTask, diff: string, mark: string): string {
  const { text, truncated } = cap(diff, MAX_DIFF);
  return [
    "You review a change to a git repository. Its checks have passed. Read what you need, and change nothing.",
    where(coding.path),
    `The task:\n${coding.task}`,
    `The change:\n${data(text, "the repository", mark)}`,
    // .gitattributes can name any file binary.
    ...(/^Binary files /m.test(diff) ? ["Of files that are said to be binary read what they hold."] : []),
    ...(truncated ? ["The rest of the change is left out: read the files."] : []),
    "Does it do what the task says, all of it and nothing else, without a check that was weakened to pass? If so, the first line of " +
      "your reply is the word ACCEPT alone. Otherwise say what has to be changed, and how.",
  ].join("\n\n");
}

/** Only the word alone on the first line that says anything accepts. */
export function isAccepted(review: string): boolean {
  const first = review.split("\n").find((line) => line.trim() !== "") ?? "";
  return /^[^\p{L}\p{N}]*ACCEPT[^\p{L}\p{N}]*$/u.test(first);
}

export function checkFindings(checks: readonly CheckEnd[]): string {
  return checks.map((check) => `${checkLine(check)}${check.output === "" ? "" : `\n${check.output}`}`).join("\n\n");
}

export function checkLine(check: CheckEnd): string {
  const { command, end, exitCode } = check;
  const how =
    end === "not run"
      ? "was not run"
      : end === "timeout"
        ? "took too long and was ended"
        : `exit code ${exitCode ?? "none"}`;
  return `${command}: ${hasPassed(check) ? "passed" : how}`;
}

export interface CodingReport {
  /** As the sentence that the call's result begins with. */
  readonly outcome: string;
  readonly rounds: number;
  /** Of git; empty: nothing was changed. */
  readonly changed: string;
  /** Of the last round. */
  readonly checks: readonly CheckEnd[];
  readonly findings: string;
}

export function renderReport({ outcome, rounds, changed, checks, findings }: CodingReport, mark: string): string {
  const details = [
    `Changed:\n${changed.trim() === "" ? "(nothing)" : changed}`,
    ...(checks.length === 0 ? [] : [`Checks of the last round:\n${checks.map(checkLine).join("\n")}`]),
    ...(findings === "" ? [] : [cap(findings, MAX_FINDINGS).text]),
  ].join("\n\n");
  return `${outcome} Rounds: ${rounds}.\n${data(details, "the repository, its checks and sub-agents", mark)}`;
}

function where(path: string): string {
  const place = path === "." ? "the workspace itself" : `the directory ${path} of the workspace`;
  return `The repository is ${place}. Paths of tools are relative to the workspace.`;
}

function data(text: string, from: string, mark: string): string {
  return markedFence({ name: NAME, from }, fenceable(text, NAME), mark);
}
