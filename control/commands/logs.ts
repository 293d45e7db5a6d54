import { join } from "node:path";
import { Flags } from "@oclif/core";
import { prettyFactory } from "pino-pretty";
import { BaseCommand } from "../base-command.ts";
import { LEVELS, type LevelName, type LogLine, parseGrep, parseSince } from "../logs/log-filter.ts";
import { follow, readPast } from "../logs/log-reader.ts";
import type { Interruption } from "../output/interruption.ts";
import { visible, visibleJson } from "../output/visible.ts";
import { deployedNames } from "../service/deployed-node.ts";
import { findDeployment } from "../service/deployment.ts";

const DEFAULT_LINES = 100;

export interface LogsResult {
  readonly directory: string;
  /** The log's own objects; `{ raw }` for a line that is none. */
  readonly entries: readonly Readonly<Record<string, unknown>>[];
}

export default class Logs extends BaseCommand<LogsResult> {
  static override description =
    "Shows what the node has logged, also from files that were rotated away.\n\n" +
    "With --json the entries are one JSON document; with --json --follow each entry is a line of its own.";

  static override summary = "Show what the node has logged";

  static override examples = [
    "<%= config.bin %> logs --follow",
    "<%= config.bin %> logs --since 2h --level warn",
    "<%= config.bin %> logs --agent main --grep 'turn.*failed' --json",
  ];

  static override flags = {
    lines: Flags.integer({
      char: "n",
      min: 0,
      description: `Number of lines (default: ${DEFAULT_LINES}, or all with --since)`,
    }),
    follow: Flags.boolean({ char: "f", description: "Go on showing lines as they are written" }),
    since: Flags.string({ helpValue: "TIME", description: "From this time on: 15m, 2h, 7d, or 2030-01-31T12:00" }),
    grep: Flags.string({ helpValue: "PATTERN", description: "Only lines that match this regular expression" }),
    level: Flags.option({
      // The keys of a constant table are its level names.
      options: Object.keys(LEVELS) as LevelName[],
      description: "Only entries of this level and above",
    })(),
    agent: Flags.string({ helpValue: "NAME", description: "Only entries about this agent" }),
  };

  protected async work({ signal }: Interruption): Promise<LogsResult> {
    const { flags } = await this.parse(Logs);
    const { dir, home } = findDeployment(flags);
    const directory = join(home, "logs");
    const filter = {
      level: flags.level,
      agent: flags.agent,
      grep: flags.grep === undefined ? undefined : parseGrep(flags.grep),
      since: flags.since === undefined ? undefined : parseSince(flags.since, new Date()),
    };
    const elsewhere = await deployedNames(dir);
    if (elsewhere !== null) {
      await this.note(
        `This directory is deployed on ${elsewhere}: the nodes' logs are read there. What follows is of this machine.`,
      );
    }
    const limit = flags.lines ?? (flags.since === undefined ? DEFAULT_LINES : undefined);
    const past = await readPast(directory, filter, limit);
    const collected: LogLine[] = [];
    const show = this.#shower(flags.follow, collected);
    for await (const line of past.lines) {
      signal.throwIfAborted();
      await show(line);
    }
    if (past.positions.size === 0 && !flags.follow) await this.note(`There is no log in ${directory} yet.`);
    if (flags.follow) {
      this.jsonLines = true;
      for await (const line of follow(directory, filter, past.positions, signal)) await show(line);
      signal.throwIfAborted();
    }
    return { directory, entries: collected.map(asEntry) };
  }

  protected render(): string {
    return "";
  }

  /** Lines go out as they are read, except into the one document of `--json`. */
  #shower(following: boolean, collected: LogLine[]): (line: LogLine) => Promise<void> {
    if (this.jsonEnabled()) {
      if (following) return (line) => this.terminal.out(`${JSON.stringify(asEntry(line))}\n`);
      return async (line) => {
        collected.push(line);
      };
    }
    const pretty = prettyFactory({
      colorize: this.terminal.outColours,
      translateTime: "SYS:standard",
      ignore: "pid,hostname,version",
      singleLine: true,
    });
    return ({ text, fields }) => this.terminal.out(fields ? pretty(visibleJson(fields)) : `${visible(text)}\n`);
  }
}

function asEntry({ text, fields }: LogLine): Readonly<Record<string, unknown>> {
  return fields ?? { raw: text };
}
