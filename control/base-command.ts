/** What all commands share: they return data, and here it is rendered as text or as the one JSON document of `--json`. */

import { resolve } from "node:path";
import process from "node:process";
import { Command, Flags } from "@oclif/core";
import { describeFailure, EXIT, failureText, Interrupted, OutputClosed } from "./output/failure.ts";
import { type Interruption, untilInterrupted, watchInterruption } from "./output/interruption.ts";
import { invocationOf, typedCommands } from "./output/invocation.ts";
import { type Mark, processTerminal, type Terminal } from "./output/terminal.ts";
import { visibleExceptMarks } from "./output/visible.ts";
import { wrap } from "./output/wrap.ts";

export abstract class BaseCommand<Result> extends Command {
  static override enableJsonFlag = true;

  static override baseFlags = {
    dir: Flags.string({
      helpValue: "DIR",
      helpGroup: "GLOBAL",
      description: "Deployment directory (default: the current one if it has a cairn.yaml, else the home directory)",
      parse: async (path) => resolve(path),
    }),
  };

  protected readonly terminal: Terminal = processTerminal();

  /** Set by a command that prints JSON lines until it is interrupted: an error is one more line then. */
  protected jsonLines = false;

  /** False where the result is what others have written: a reply, a search's hits. */
  protected readonly ownWords: boolean = true;

  /** Parses the flags, calls a service and returns what is to be shown. The interruption ends whatever waits. */
  protected abstract work(interruption: Interruption): Promise<Result>;

  /** The result in words, without a newline at its end; an empty text prints nothing. */
  protected abstract render(result: Result, mark: Mark): string;

  /** What a person is asked once the result is shown; nothing for most commands, and nothing under `--json`. */
  protected async afterwards(_result: Result, _interruption: Interruption): Promise<void> {}

  /** A result may be negative: `status` of a node that is not running is a result, and still a failure for a script. */
  protected exitCodeOf(_result: Result): number {
    return EXIT.done;
  }

  /** Says something beside the result, on standard error. */
  protected async note(text: string): Promise<void> {
    const said = visibleExceptMarks(this.typed(text));
    const lines = this.terminal.errIsTerminal ? wrap(said, 0, process.stderr.columns) : [said];
    await this.terminal.err(`${lines.join("\n")}\n`);
  }

  /** The text with its commands as they have to be typed here. */
  protected typed(text: string): string {
    return typedHere(text, this.argv);
  }

  override async run(): Promise<Result> {
    const interruption = watchInterruption();
    try {
      const result = await untilInterrupted(this.work(interruption), interruption);
      if (!this.jsonEnabled()) {
        const words = this.render(result, this.terminal.mark);
        const text = this.ownWords ? this.typed(words) : words;
        if (text !== "") await this.terminal.out(`${visibleExceptMarks(text)}\n`);
      }
      const code = this.exitCodeOf(result);
      if (code !== EXIT.done) process.exitCode = code;
      if (!this.jsonEnabled()) await untilInterrupted(this.afterwards(result, interruption), interruption);
      return result;
    } finally {
      interruption.release();
    }
  }

  /** Never rethrows: a second report of the same error would be a second document. */
  protected override async catch(error: Error): Promise<void> {
    const json = this.jsonEnabled() && (this.jsonLines ? "line" : "document");
    await reportFailure(error, { json, terminal: this.terminal, command: this.id, argv: this.argv });
  }

  protected override logJson(json: unknown): void {
    void this.terminal.out(`${JSON.stringify(json, null, 2)}\n`);
  }
}

/** Form of an error under `--json`: the one document, or one line among others. */
export type JsonForm = false | "document" | "line";

/** Shows an error where it belongs and sets the exit code of the process. */
export async function reportFailure(
  error: unknown,
  where: {
    readonly json: JsonForm;
    readonly terminal: Terminal;
    readonly command?: string | undefined;
    readonly argv: readonly string[];
  },
): Promise<void> {
  if (error instanceof OutputClosed) return;
  const failure = describeFailure(error, where.command?.replaceAll(":", " "));
  process.exitCode = failure.exitCode;
  if (where.json === "document") {
    await where.terminal.out(`${JSON.stringify({ ok: false, error: failure.body }, null, 2)}\n`);
  } else if (where.json === "line") {
    if (!(error instanceof Interrupted))
      await where.terminal.out(`${JSON.stringify({ ok: false, error: failure.body })}\n`);
  } else if (error instanceof Interrupted) {
    // The terminal shows ^C: the prompt should not continue that line.
    if (where.terminal.errIsTerminal) await where.terminal.err("\n");
  } else {
    const text = typedHere(failureText(failure, where.terminal.errMark), where.argv);
    const width = where.terminal.errIsTerminal ? process.stderr.columns : undefined;
    await where.terminal.err(wrap(text, 0, width).join("\n"));
  }
  if (process.env.CAIRN_DEBUG && error instanceof Error) await where.terminal.err(`${stackOf(error)}\n`);
}

function typedHere(text: string, argv: readonly string[]): string {
  const { env } = process;
  return typedCommands(text, invocationOf({ argv, script: process.argv[1], env, cwd: process.cwd() }));
}

function stackOf(error: Error): string {
  const own = error.stack ?? error.message;
  return error.cause instanceof Error ? `${own}\nCaused by: ${stackOf(error.cause)}` : own;
}
