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

export function eventOutput(terminal: Terminal, json: boolean): EventOutput {
  if (json) {
    return {
      show: (event) => void terminal.err(`${JSON.stringify(event)}\n`),
      pause: async () => undefined,
    };
  }
  return terminal.errIsTerminal ? liveOutput(terminal) : plainOutput(terminal);
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
    const word = event.state === "failed" ? "failed" : (PAST[event.op] ?? event.op);
    return `  ${word} ${visible(event.name)}`;
  }
  const mark = event.severity === "info" ? "" : `${event.severity}: `;
  return `  ${mark}${visible(event.message)}`;
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

function liveOutput(terminal: Terminal): EventOutput {
  let progress: Progress | null = null;
  let phase = "";
  const active = new Map<string, string>();
  const end = async (): Promise<void> => {
    await progress?.end();
    progress = null;
  };
  return {
    show(event) {
      if (event.event === "phase") phase = event.message;
      if (event.event === "resource") {
        if (event.state === "started") active.set(event.urn, visible(event.name));
        else active.delete(event.urn);
      }
      const line = lineOf(event);
      if (line !== null) {
        void progress?.end();
        progress = null;
        void terminal.err(
          `${event.event === "message" && event.severity !== "info" ? terminal.errMark.warn(line) : line}\n`,
        );
      }
      progress ??= startProgress(terminal);
      progress.update(active.size > 0 ? `${phase}: ${[...active.values()].join(", ")}` : phase);
    },
    pause: end,
  };
}
