/**
 * A terminal on which an agent writes and a person types at the same time: what the agent says waits while there is
 * something on the input line, and the prompt makes room when the agent speaks.
 */

import process from "node:process";
import { createInterface, type Interface } from "node:readline";
import { PASTE_OFF, PASTE_ON } from "../output/paste.ts";

export interface Screen {
  write(text: string): void;
  /** A line of its own. */
  line(text: string): void;
  /** Shows the prompt, unless it is there. */
  prompt(): void;
  /** A line that the next text, or the first key, takes the place of; not shown where there is something on the line. */
  wait(text: string): void;
  /** What the Up key recalls is this text, in place of the lines in which it was entered. */
  recallAs(text: string): void;
  close(): void;
}

export interface ScreenHandlers {
  /** What was entered: a line, or several where they were pasted. */
  onLine(line: string): void;
  /** Ctrl-C; the text that was on the input line has been dropped. */
  onInterrupt(lineWasEmpty: boolean): void;
  /** Ctrl-D, or the terminal went away. */
  onEnd(): void;
}

const HISTORY = 200;
const CLEAR_LINE = "\r\u001b[2K";

export function openScreen(
  input: NodeJS.ReadStream,
  output: NodeJS.WriteStream,
  promptText: string,
  handlers: ScreenHandlers,
): Screen {
  const reader = createInterface({ input, output, prompt: promptText, terminal: true, historySize: HISTORY });
  let held = "";
  let prompting = false;
  let waiting = false;
  /** The reader's own, the newest first; it is set with the first line. */
  let history: string[] = [];
  let messages: readonly string[] = [];
  let atLineStart = true;
  let pasting = false;
  /** Ctrl-C in the middle of a paste: what comes of it until its end is no message. */
  let dropping = false;
  /** Lines of pasted text that wait for Enter. */
  let pasted: string[] = [];
  const isEmpty = (): boolean => reader.line === "" && pasted.length === 0;

  const clearWait = (): void => {
    if (waiting) output.write(CLEAR_LINE);
    waiting = false;
  };
  const put = (text: string): void => {
    if (text === "") return;
    clearWait();
    if (prompting) {
      output.write(CLEAR_LINE);
      prompting = false;
      atLineStart = true;
    }
    output.write(text);
    atLineStart = text.endsWith("\n");
  };
  const release = (): void => {
    const text = held;
    held = "";
    put(text);
  };
  const prompt = (): void => {
    if (prompting) return;
    clearWait();
    if (!atLineStart) output.write("\n");
    prompting = true;
    reader.prompt();
  };
  const endOfPaste = (): void => {
    pasting = false;
    if (!dropping) return;
    dropping = false;
    dropLine(reader);
    handlers.onLine("");
  };
  /** At the first key while a reply is streamed the line gets its prompt, before the letter appears. */
  const onKey = (_text: string | undefined, key: { readonly name?: string; readonly ctrl?: boolean }): void => {
    if (key.name === "paste-start") pasting = true;
    if (key.name === "paste-end") endOfPaste();
    if (key.ctrl || key.name === "return" || key.name === "enter" || prompting) return;
    if (isEmpty()) prompt();
  };

  input.prependListener("keypress", onKey);
  reader.on("line", (line) => {
    prompting = false;
    waiting = false;
    atLineStart = true;
    if (dropping) return;
    if (pasting) {
      pasted.push(line);
      return;
    }
    // A message of several lines that was recalled comes with carriage returns.
    const entered = [...pasted, line.replaceAll("\r", "\n")].join("\n");
    pasted = [];
    release();
    handlers.onLine(entered);
  });
  reader.on("history", (lines) => {
    history = lines;
  });
  reader.on("SIGINT", () => {
    clearWait();
    const wasEmpty = isEmpty();
    // A second begin ends the paste, too: a terminal that broke off never sends its end.
    dropping = pasting && !dropping;
    pasting = dropping;
    if (!wasEmpty) {
      pasted = [];
      dropLine(reader);
      output.write("\n");
      prompting = false;
      atLineStart = true;
      release();
    }
    handlers.onInterrupt(wasEmpty);
  });
  reader.on("close", () => handlers.onEnd());
  // Also where the process ends at once: the shell after it would see the marks as text.
  const endPaste = (): void => void output.write(PASTE_OFF);
  output.write(PASTE_ON);
  process.once("exit", endPaste);

  return {
    write(text) {
      held += text;
      if (isEmpty()) release();
    },
    line(text) {
      // Unless a prompt stands there, which is cleared away.
      const lead = prompting || (atLineStart && held === "") || held.endsWith("\n") ? "" : "\n";
      this.write(`${lead}${text}\n`);
    },
    prompt,
    wait(text) {
      if (prompting || !atLineStart || held !== "" || !isEmpty()) return;
      output.write(`${CLEAR_LINE}${text}`);
      waiting = true;
    },
    recallAs(text) {
      const former = messages[0] === text ? messages.slice(1) : messages;
      messages = [text, ...former].slice(0, HISTORY);
      history.splice(0, history.length, ...messages);
    },
    close() {
      clearWait();
      input.off("keypress", onKey);
      process.off("exit", endPaste);
      endPaste();
      reader.removeAllListeners("close");
      release();
      if (prompting || !atLineStart) output.write("\n");
      reader.close();
      input.pause();
    },
  };
}

/** Ctrl-E, Ctrl-U: as if the user had deleted the line. */
function dropLine(reader: Interface): void {
  reader.write(null, { ctrl: true, name: "e" });
  reader.write(null, { ctrl: true, name: "u" });
}
