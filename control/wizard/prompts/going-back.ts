/**
 * Asks one question of the library, and takes the keys that it does not know: Esc, and `<`, lead back to the question before. What
 * was asked is taken off the screen then.
 */
import process from "node:process";
import { wrap } from "../../output/wrap.ts";
import { BACK, type Back } from "../dialog.ts";
import { openTypedKeys } from "./typed-keys.ts";

export type Prompts = typeof import("@inquirer/prompts");

export interface Context {
  readonly signal: AbortSignal;
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WriteStream;
  clearPromptOnDone: boolean;
}

export interface AskOptions<T> {
  readonly signal: AbortSignal;
  /** Where lines are typed, `<` is the answer that leads back; elsewhere it does so as a key. */
  readonly typed?: (value: T) => boolean;
  /** What is done about Ctrl-C at the question, which the library takes itself. */
  readonly interrupted: () => Promise<Error>;
}

/** What is typed instead of an answer. */
export const BACK_KEY = "<";

/** BACK, or the answer. Rejects with the signal's reason once it aborts. */
export async function askOrBack<T>(
  question: (prompts: Prompts, context: Context) => Promise<T>,
  { signal, typed, interrupted }: AskOptions<T>,
): Promise<T | Back> {
  const prompts = await import("@inquirer/prompts");
  const back = new AbortController();
  const keys = openTypedKeys((text, key) => {
    if (key?.name !== "escape" && (typed !== undefined || text !== BACK_KEY)) return;
    context.clearPromptOnDone = true;
    back.abort();
  });
  const context: Context = {
    signal: AbortSignal.any([signal, back.signal]),
    input: keys.input,
    output: process.stderr,
    clearPromptOnDone: false,
  };
  try {
    const value = await question(prompts, context);
    return typed?.(value) === true ? BACK : value;
  } catch (error) {
    signal.throwIfAborted();
    if (back.signal.aborted) return BACK;
    if (error instanceof Error && error.name === "ExitPromptError") throw await interrupted();
    throw error;
  } finally {
    keys.close();
  }
}

/** Columns of what the library puts before a question. */
const MARK = 2;

/** The question broken between words, with room behind it for what the library shows there: `usual`, in brackets. */
export function asked(message: string, usual: string): string {
  const { columns } = process.stderr;
  const lines = wrap(message, MARK, columns);
  const room = (columns || Number.POSITIVE_INFINITY) - MARK - (lines.at(-1)?.length ?? 0);
  // The answer's own line begins where the question does: the library puts a blank before it.
  const whole = usual !== "" && room < usual.length + " () ".length ? [...lines, ""] : lines;
  return whole.join(`\n${" ".repeat(MARK)}`);
}
