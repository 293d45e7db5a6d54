/**
 * The keys of the terminal as the library's questions see them: of pasted text the ends of lines are blanks, so that what was copied with
 * three lines is one answer that waits for Enter, not three answers.
 */
import process from "node:process";
import { emitKeypressEvents } from "node:readline";
import { PassThrough } from "node:stream";
import { PASTE_OFF, PASTE_ON } from "../../output/paste.ts";

type Key = { readonly name?: string | undefined; readonly sequence?: string | undefined };

export interface TypedKeys {
  /** In place of the terminal's input. */
  readonly input: NodeJS.ReadableStream;
  close(): void;
}

/** Sees every key as the question does. */
export function openTypedKeys(onKey: (text: string | undefined, key: Key | undefined) => void): TypedKeys {
  const { stdin, stderr } = process;
  const input = new PassThrough();
  const pass = (text: string | undefined, key: Key | undefined): void => {
    input.emit("keypress", text, key);
    onKey(text, key);
  };
  let pasting = false;
  let broken = false;
  let empty = true;
  const listener = (text: string | undefined, key: Key | undefined): void => {
    const name = key?.name;
    if (name === "paste-start" || name === "paste-end") {
      pasting = name === "paste-start";
      broken = false;
      empty = true;
    } else if (!pasting) pass(text, key);
    else if (name === "return" || name === "enter") broken = true;
    else {
      // Lines before the first and behind the last word are none.
      if (broken && !empty) pass(" ", { name: "space", sequence: " " });
      broken = false;
      empty = false;
      pass(text, key);
    }
  };
  emitKeypressEvents(stdin);
  stdin.on("keypress", listener);
  const end = (): void => void input.end();
  stdin.once("end", end);
  stdin.setRawMode?.(true);
  stdin.resume();
  stderr.write(PASTE_ON);
  // Also where the process ends at once: the shell after it would see the marks as text.
  const endPaste = (): void => void stderr.write(PASTE_OFF);
  process.once("exit", endPaste);
  return {
    input,
    close() {
      stdin.off("keypress", listener);
      stdin.off("end", end);
      stdin.setRawMode?.(false);
      stdin.pause();
      process.off("exit", endPaste);
      endPaste();
    },
  };
}
