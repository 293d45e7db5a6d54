/** The last lines that a part of the stack has written, for an error that says why it does not start. */

import { execa } from "execa";
import type { StackPart } from "../driver.ts";
import { lastOf, programWords } from "../engine/failure-report.ts";
import type { Session } from "./session.ts";

/** Lines for the log, and milliseconds for a target to hand them over. */
const LINES = 200;
const TIMEOUT_MS = 20_000;

export interface LastWords {
  readonly lastWords: readonly string[];
  readonly log?: string;
}

/** Without secrets; the log gets more of them. None where they cannot be read: the failure itself is worth more. */
export async function lastWordsOf({ driver, run, log, redact }: Session, part: StackPart): Promise<LastWords> {
  const text = redact(await readLog({ driver, run }, part).catch(() => ""));
  const name = part.kind === "postgres" ? "PostgreSQL" : part.name;
  // What the kernel ends for memory writes nothing: that, too, is what the run was told.
  const written = text.trim() === "" ? "It has written nothing that can be read." : text;
  const file = await log.write("up", `Last lines of ${name}`, written);
  return { lastWords: lastOf(programWords(text.split("\n"))), ...(file === null ? {} : { log: file }) };
}

async function readLog({ driver, run }: Pick<Session, "driver" | "run">, part: StackPart): Promise<string> {
  const { program, args, close } = await driver.enter(
    part,
    { kind: "logs", lines: LINES, follow: false, since: null },
    run.signal,
  );
  try {
    const result = await execa(program, args, {
      reject: false,
      all: true,
      stdin: "ignore",
      timeout: TIMEOUT_MS,
      cancelSignal: run.signal,
    });
    return result.all ?? "";
  } finally {
    await close();
  }
}
