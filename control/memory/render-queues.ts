/** The state of the job queues, and what was done to them, in words. */

import type { BackfillResult, QueueStatus, RetryResult } from "../../runtime/client/index.ts";
import { columns, type Mark } from "../output/terminal.ts";
import { visible } from "../output/visible.ts";

const LONGEST_ERROR = 200;

export function renderQueues(queues: readonly QueueStatus[], mark: Mark): string {
  const head = ["queue", "waiting", "active", "failed", "completed"].map((name) => mark.dim(name));
  const rows = queues.map(({ queue, waiting, active, failed, completed }) => [
    queue,
    ...[waiting, active, failed, completed].map(String),
  ]);
  const errors = queues.flatMap(({ queue, last_error: error }) =>
    error === null ? [] : [`${queue} failed: ${firstLine(error)}`],
  );
  return [columns([head, ...rows]), ...(errors.length > 0 ? ["", ...errors] : [])].join("\n");
}

export function renderBackfill({ dry_run: dry, candidates, enqueued, queued, failed }: BackfillResult): string {
  if (candidates === 0) return "Every tool call has its content.";
  const rest = [
    ...(queued > 0 ? [`${queued} have one already`] : []),
    ...(failed > 0 ? [`of ${failed} it has failed`] : []),
  ];
  const jobs = `${dry ? "Would queue" : "Queued"} jobs for ${enqueued} of ${candidates} tool calls without content`;
  const hint = failed > 0 ? "\nSee `cairn memory retry-failed --task synthesize-tool-call`." : "";
  return `${jobs}${rest.length > 0 ? `; ${rest.join(", ")}` : ""}.${hint}`;
}

export function renderRetry({ task, dry_run: dry, matched, retried, skipped }: RetryResult): string {
  if (matched === 0) return `No failed job of ${task} matches.`;
  const unchanged = skipped > 0 ? `; ${skipped} left alone, their work is queued already` : "";
  return `${retried} of ${matched} failed jobs of ${task} ${dry ? "would wait" : "wait"} again${unchanged}.`;
}

function firstLine(error: string): string {
  const [line = ""] = visible(error.trim()).split("\n", 1);
  return line.length > LONGEST_ERROR ? `${line.slice(0, LONGEST_ERROR).replace(/[\ud800-\udbff]$/, "")}…` : line;
}
