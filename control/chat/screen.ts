/**
 * A terminal on which an agent writes and a person types at the same time: what the agent says waits while there is
 * something on the input line, and the prompt makes room when the agent speaks.
 */

import { createInterface, type Interface } from "node:readline";

export interface Screen {
  write(text: string): void;
  /** A line of its own. */
  line(text: string): void;
  /** Shows the prompt, unless it is there. */
  prompt(): void;
  close(): void;
}

export interface ScreenHandlers {
  onLine(line: string): void;
  /** Ctrl-C; the text that was on the input line has been dropped. */
  onInterrupt(lineWasEmpty: boolean): void;
  /** Ctrl-D, or the terminal went away. */
  onEnd(): void;
}

const CLEAR_LINE = "\r\u001b[2K";

export function openScreen(
  input: NodeJS.ReadStream,
  output: NodeJS.WriteStream,
  promptText: string,
  handlers: ScreenHandlers,
): Screen {
  const reader = createInterface({ input, output, prompt: promptText, terminal: true, historySize: 200 });
  let held = "";
  let prompting = false;
  let atLineStart = true;

  const put = (text: string): void => {
    if (text === "") return;
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
    if (!atLineStart) output.write("\n");
    prompting = true;
    reader.prompt();
  };
  /** Somebody begins to type while the agent speaks: the line gets its prompt before the first letter appears. */
  const onKey = (_text: string | undefined, key: { readonly name?: string; readonly ctrl?: boolean }): void => {
    if (key.ctrl || key.name === "return" || key.name === "enter" || prompting) return;
    if (reader.line === "") prompt();
  };

  input.prependListener("keypress", onKey);
  reader.on("line", (line) => {
    prompting = false;
    atLineStart = true;
    release();
    handlers.onLine(line);
  });
  reader.on("SIGINT", () => {
    const wasEmpty = reader.line === "";
    if (!wasEmpty) {
      dropLine(reader);
      output.write("\n");
      prompting = false;
      atLineStart = true;
      release();
    }
    handlers.onInterrupt(wasEmpty);
  });
  reader.on("close", () => handlers.onEnd());

  return {
    write(text) {
      held += text;
      if (reader.line === "") release();
    },
    line(text) {
      // Unless a prompt stands there, which is cleared away.
      const lead = prompting || (atLineStart && held === "") || held.endsWith("\n") ? "" : "\n";
      this.write(`${lead}${text}\n`);
    },
    prompt,
    close() {
      input.off("keypress", onKey);
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
