/** Shows what goes on: live lines on a terminal, plain lines otherwise, JSON lines for programs. All on standard error. */

import { type Progress, startProgress } from "../output/progress.ts";
import type { Terminal } from "../output/terminal.ts";
import { visible } from "../output/visible.ts";
import type { InfraEvent } from "./schemas.ts";

export interface EventOutput {
  show(event: InfraEvent): void;
  /** Takes the live line off the terminal, for a question or the result. */
  pause(): Promise<void>;
}

export function eventOutput(
  terminal: Terminal,
  json: boolean,
  now: () => number = () => performance.now(),
): EventOutput {
  if (json) {
    return {
      show: (event) => void terminal.err(`${JSON.stringify(event)}\n`),
      pause: async () => undefined,
    };
  }
  return terminal.errIsTerminal ? liveOutput(terminal, now) : plainOutput(terminal);
}

const PAST: Readonly<Record<string, string>> = {
  create: "created",
  "create-replacement": "replaced",
  update: "updated",
  delete: "removed",
  "delete-replaced": "removed the old",
  import: "took over",
};

/** What is worth a line of its own; null for what only the live line shows. */
function lineOf(event: InfraEvent): string | null {
  if (event.event === "phase") return null;
  if (event.event === "resource") {
    if (event.state === "started" || event.op === "replace") return null;
    const word = event.state === "failed" ? "failed" : (wordOf(event) ?? event.op);
    return `  ${word} ${visible(event.name)}`;
  }
  // The command ends with them, in words for people.
  if (event.severity === "error") return null;
  const mark = event.severity === "info" ? "" : `${event.severity}: `;
  return `  ${mark}${visible(event.message)}`;
}

/** An image is pulled and never deleted: its name is all that goes. */
function wordOf({ op, type }: Extract<InfraEvent, { event: "resource" }>): string | undefined {
  return op === "delete" && type.endsWith(":RemoteImage") ? "left there the image" : PAST[op];
}

function plainOutput(terminal: Terminal): EventOutput {
  return {
    show(event) {
      const line = event.event === "phase" ? event.message : lineOf(event);
      if (line !== null) void terminal.err(`${line}\n`);
    },
    pause: async () => undefined,
  };
}

/** Milliseconds between two renewals of the elapsed time. */
const TICK_MS = 1_000;

/** What the live line says: the phase, how far it is, how long it has taken, and what is being done now. */
export function progressText(
  phase: string,
  { done, total, elapsedMs, active }: { done: number; total: number; elapsedMs: number; active: readonly string[] },
): string {
  const counts = total > 0 ? `${Math.min(done, total)} of ${total}, ` : "";
  const names = active.length === 0 ? "" : `: ${active.join(", ")}`;
  return `${phase} (${counts}${Math.floor(elapsedMs / 1_000)} s)${names}`;
}

function liveOutput(terminal: Terminal, now: () => number): EventOutput {
  let progress: Progress | null = null;
  let ticking: NodeJS.Timeout | undefined;
  let phase = { text: "", total: 0, beganAt: now() };
  const active = new Map<string, string>();
  const done = new Set<string>();
  const draw = (): void => {
    progress ??= startProgress(terminal);
    const elapsedMs = now() - phase.beganAt;
    const counted = { done: done.size, total: phase.total, elapsedMs, active: [...active.values()] };
    progress.update(progressText(phase.text, counted));
    ticking ??= setInterval(draw, TICK_MS).unref();
  };
  // At once: what is drawn next is another line, which has to be taken off, too.
  const end = (): Promise<void> => {
    clearInterval(ticking);
    ticking = undefined;
    const ended = progress?.end();
    progress = null;
    return ended ?? Promise.resolve();
  };
  return {
    show(event) {
      if (event.event === "phase") {
        phase = { text: visible(event.message), total: event.total ?? 0, beganAt: now() };
        done.clear();
      }
      if (event.event === "resource") {
        if (event.state === "started") active.set(event.urn, visible(event.name));
        else {
          active.delete(event.urn);
          done.add(event.urn);
        }
      }
      const line = lineOf(event);
      if (line !== null) {
        void end();
        void terminal.err(
          `${event.event === "message" && event.severity !== "info" ? terminal.errMark.warn(line) : line}\n`,
        );
      }
      draw();
    },
    pause: end,
  };
}
