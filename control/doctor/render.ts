/** The report in words, for a terminal of any width. Pure. */

import type { Mark } from "../output/terminal.ts";
import { visible } from "../output/visible.ts";
import { wrap } from "../output/wrap.ts";
import type { DiffLine } from "./repair/diff.ts";
import { type CheckReport, type RepairReport, type Report, STATUSES, type Status } from "./report.ts";

const INDENT = " ".repeat(8);

/** `width` in columns; undefined: lines are as long as they are. Without a newline at the end. */
export function renderReport(report: Report, mark: Mark, width?: number): string {
  const lines: string[] = [];
  let category = "";
  // What follows from a problem is listed with it.
  for (const { check, times } of together(report.checks.filter(({ follows_from }) => follows_from === undefined))) {
    if (check.category !== category) lines.push(...(category === "" ? [] : [""]), mark.title(check.category));
    category = check.category;
    lines.push(
      ...checkLines(times === 1 ? check : { ...check, message: `${check.message} (${times} checks)` }, mark, width),
    );
  }
  const repairs = (report.repairs ?? []).flatMap((repair) => repairLines(repair, mark, width));
  if (repairs.length > 0) lines.push("", mark.title("repairs"), ...repairs);
  const problems = renderProblems(report, mark, width);
  if (problems !== "") lines.push("", mark.title("problems"), problems);
  if (lines.length > 0) lines.push("");
  lines.push(STATUSES.map((status) => colour(status, mark)(`${report.summary[status]} ${status}`)).join(", "));
  return lines.join("\n");
}

/** The failures and then the warnings, each with what to do and with what follows from it. Empty where there is none. */
export function renderProblems({ checks }: Report, mark: Mark, width?: number): string {
  const problems = (["fail", "warn"] as const).flatMap((wanted) => checks.filter(({ status }) => status === wanted));
  return problems.flatMap((problem) => problemLines(problem, checks, mark, width)).join("\n");
}

/** A diff as `git diff` shows it. */
export function renderDiff(diff: readonly DiffLine[], mark: Mark): string {
  return diff
    .map(({ kind, text }) => {
      const safe = visible(text);
      if (kind === "head") return mark.title(safe);
      if (kind === "gone") return mark.error(`- ${safe}`);
      return kind === "new" ? mark.good(`+ ${safe}`) : mark.dim(`  ${safe}`);
    })
    .join("\n");
}

/** Adjacent checks that are skipped for the same reason are shown as one. */
function together(checks: readonly CheckReport[]): { check: CheckReport; times: number }[] {
  const groups: { check: CheckReport; times: number }[] = [];
  for (const check of checks) {
    const last = groups.at(-1);
    const same =
      last?.check.status === "skip" &&
      check.status === "skip" &&
      last.check.category === check.category &&
      last.check.message === check.message;
    if (last && same) last.times += 1;
    else groups.push({ check, times: 1 });
  }
  return groups;
}

/** What is wrong with it and what to do follows in the list of problems. */
function checkLines({ id, status, message }: CheckReport, mark: Mark, width?: number): string[] {
  const lines = headLines(status, message, mark, width);
  return status === "pass" || status === "skip" ? lines : [...lines, INDENT + mark.dim(id)];
}

function problemLines(problem: CheckReport, checks: readonly CheckReport[], mark: Mark, width?: number): string[] {
  const { id, status, message, detail = "", fix } = problem;
  const details = detail.split("\n").filter((line) => line !== "" && !message.includes(line));
  const following = checks.filter(({ follows_from }) => follows_from === id).map((check) => check.id);
  const indented = (text: string): string[] => wrap(visible(text), INDENT.length, width).map((line) => INDENT + line);
  const dimmed = (text: string): string[] =>
    wrap(visible(text), INDENT.length, width).map((line) => INDENT + mark.dim(line));
  return [
    ...headLines(status, message, mark, width),
    ...details.flatMap((line) => dimmed(`- ${line}`)),
    ...(fix === undefined ? [] : indented(`Fix: ${fix}`)),
    INDENT + mark.dim(id),
    ...(following.length === 0 ? [] : dimmed(`follows from ${id}: ${following.join(", ")}`)),
  ];
}

function headLines(status: Status, message: string, mark: Mark, width?: number): string[] {
  const [first = "", ...rest] = wrap(visible(message), INDENT.length, width);
  const shown = (line: string): string => (status === "skip" ? mark.dim(line) : line);
  return [`  ${colour(status, mark)(status)}  ${shown(first)}`, ...rest.map((line) => INDENT + shown(line))];
}

function repairLines({ path, action, outcome, backup, error }: RepairReport, mark: Mark, width?: number): string[] {
  const words = { mode: "made private", directory: "made", create: "written", change: "changed" }[action];
  const done = outcome === "done";
  const text = done
    ? `${path} ${words}${backup === null ? "" : ` (before: ${backup})`}`
    : `${path}: not ${words}: ${error ?? "unknown reason"}`;
  const [first = "", ...rest] = wrap(visible(text), INDENT.length, width);
  return [`  ${done ? mark.good("done") : mark.error("fail")}  ${first}`, ...rest.map((line) => INDENT + line)];
}

function colour(status: Status, mark: Mark): (text: string) => string {
  return { pass: mark.good, warn: mark.warn, fail: mark.error, skip: mark.dim }[status];
}
