import { join } from "node:path";
import { Flags } from "@oclif/core";
import { prettyFactory } from "pino-pretty";
import { BaseCommand } from "../base-command.ts";
import type { Ago } from "../deploy/driver.ts";
import {
  LEVELS,
  type LevelName,
  type LogFilter,
  type LogLine,
  parseAgo,
  parseGrep,
  parseSince,
} from "../logs/log-filter.ts";
import { follow, readPast } from "../logs/log-reader.ts";
import { newestOf, readPartLog } from "../logs/part-log.ts";
import type { Interruption } from "../output/interruption.ts";
import { visible, visibleJson } from "../output/visible.ts";
import { refuseUndeployed } from "../service/deployed-node.ts";
import { findDeployment } from "../service/deployment.ts";
import { type ChosenPart, choosePart } from "../service/stack-parts.ts";

const DEFAULT_LINES = 100;

export interface LogsResult {
  /** Of this machine's log; null for a part of a deployed stack, whose log the target keeps. */
  readonly directory: string | null;
  /** The log's own objects; `{ raw }` for a line that is none. */
  readonly entries: readonly Readonly<Record<string, unknown>>[];
}

export default class Logs extends BaseCommand<LogsResult> {
  static override description =
    "Shows what the node has logged, also from rotated files. Of a deployed stack it is what the node, or its PostgreSQL, " +
    "has written and the target has kept.\n\n" +
    "With --json the entries are one JSON document; with --json --follow each entry is a line of its own.";

  static override summary = "Show what the node has logged";

  static override examples = [
    "<%= config.bin %> logs --follow",
    "<%= config.bin %> logs --since 2h --level warn",
    "<%= config.bin %> logs --node nova-2 --follow",
    "<%= config.bin %> logs --postgres --since 1h",
    "<%= config.bin %> logs --agent main --grep 'turn.*failed' --json",
  ];

  static override flags = {
    node: Flags.string({ helpValue: "NAME", description: "Node of the deployed stack (default: the first)" }),
    postgres: Flags.boolean({
      exclusive: ["node", "agent", "level"],
      description: "The log of the deployed stack's PostgreSQL",
    }),
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
    const deployment = findDeployment(flags);
    const directory = join(deployment.home, "logs");
    const filter = {
      level: flags.level,
      agent: flags.agent,
      grep: flags.grep === undefined ? undefined : parseGrep(flags.grep),
      since: flags.since === undefined ? undefined : parseSince(flags.since, new Date()),
    };
    const limit = flags.lines ?? (flags.since === undefined ? DEFAULT_LINES : undefined);
    const part = await choosePart(deployment, flags, signal);
    if (part !== null) {
      const agoSeconds = flags.since === undefined ? null : parseAgo(flags.since);
      const since = agoSeconds === null ? (filter.since ?? null) : { agoSeconds };
      return this.#ofPart(part, filter, { limit, since, follow: flags.follow }, signal);
    }
    const past = await readPast(directory, filter, limit);
    const collected: LogLine[] = [];
    const show = this.#shower(flags.follow, collected);
    for await (const line of past.lines) {
      signal.throwIfAborted();
      await show(line);
    }
    if (past.positions.size === 0) await refuseUndeployed(deployment);
    if (past.positions.size === 0 && !flags.follow) await this.note(`There is no log in ${directory} yet.`);
    if (flags.follow) {
      this.jsonLines = true;
      for await (const line of follow(directory, filter, past.positions, signal)) await show(line);
      signal.throwIfAborted();
    }
    return { directory, entries: collected.map(asEntry) };
  }

  /** The target keeps it: the newest lines are counted there, where nothing is filtered here. */
  async #ofPart(
    part: ChosenPart,
    filter: LogFilter,
    {
      limit,
      since,
      follow: following,
    }: { readonly limit: number | undefined; readonly since: Date | Ago | null; readonly follow: boolean },
    signal: AbortSignal,
  ): Promise<LogsResult> {
    if (part.others.length > 0) {
      await this.note(`${part.name}; --node names another one (${part.others.join(", ")}).`);
    }
    const isFiltered = filter.level !== undefined || filter.agent !== undefined || filter.grep !== undefined;
    const lines = limit === undefined || (isFiltered && !following) ? null : limit;
    const command = await part.open({ kind: "logs", lines, follow: following, since }, signal);
    const collected: LogLine[] = [];
    const show = this.#shower(following, collected);
    if (following) this.jsonLines = true;
    try {
      // The target has left out what is too old: a line without a time of its own is not to be left out again.
      const read = readPartLog(command, part.name, { ...filter, since: undefined }, signal);
      const wanted = following || limit === undefined ? read : await newestOf(read, limit);
      for await (const line of wanted) await show(line);
    } finally {
      await command.close();
    }
    return { directory: null, entries: collected.map(asEntry) };
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
