/** What another node's turn does, in short lines for the followers of the turn that waits for it. */

import type { StreamEvent } from "../../contracts/stream.ts";
import { cap, sanitize } from "../../domain/cap.ts";
import { visibleText } from "../../domain/prompt-data.ts";

/** UTF-16 code units: what is said of a text at once. */
const LINE = 200;
/** Of one task: its followers read the reply, not all of the way to it. */
const MAX_LINES = 1_000;

/** `say` gets a line of at most some 300 characters, without anything that is not seen. */
export function createProgress(name: string, say: (line: string) => void): (event: StreamEvent) => void {
  let buffer = "";
  let lines = 0;

  function line(text: string): void {
    if (lines++ < MAX_LINES) say(`${name}: ${text}`);
  }

  function flush(): void {
    const text = visibleText(sanitize(buffer)).trim();
    buffer = "";
    if (text !== "") line(text);
  }

  return (event) => {
    if (event.type === "text.delta") {
      // What is not said at once is cut: a peer decides how long its pieces are.
      buffer += cap(String(event.text), LINE).text;
      if (buffer.length >= LINE || buffer.includes("\n")) flush();
      return;
    }
    flush();
    if (event.type === "turn.started") line(event.attempt > 1 ? "begins again" : "begins");
    if (event.type === "tool.started") line(`uses ${cap(visibleText(sanitize(String(event.name))), 100).text}`);
  };
}
