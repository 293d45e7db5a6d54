import { join } from "node:path";
import { Flags } from "@oclif/core";
import { type AuditEntry, readAudit } from "../../audit/show-audit.ts";
import { BaseCommand } from "../../base-command.ts";
import { parseGrep, parseSince } from "../../logs/log-filter.ts";
import type { Interruption } from "../../output/interruption.ts";
import type { Mark } from "../../output/terminal.ts";
import { visible } from "../../output/visible.ts";
import { findDeployment } from "../../service/deployment.ts";

const DEFAULT_LINES = 50;
const MOST_TEXT = 200;

export interface AuditShowResult {
  readonly directory: string;
  /** As they stand in the log. */
  readonly entries: readonly AuditEntry[];
}

export default class AuditShow extends BaseCommand<AuditShowResult> {
  static override summary = "Show tool calls and security events from the audit log";

  static override description =
    "The newest lines of the audit log in this machine's home, oldest first: tool calls with what became of them, refused calls, and " +
    "what was changed or taken from the node, by whom. With --json they are complete.";

  static override examples = [
    "<%= config.bin %> audit show --since 1d",
    "<%= config.bin %> audit show --event refused --event token.wrong",
    "<%= config.bin %> audit show --agent main --grep 'rm -rf' --json",
  ];

  static override flags = {
    lines: Flags.integer({ char: "n", min: 1, max: 100_000, default: DEFAULT_LINES, description: "Number of lines" }),
    since: Flags.string({ helpValue: "TIME", description: "From this time on: 15m, 2h, 7d, or 2030-01-31T12:00" }),
    event: Flags.string({
      helpValue: "NAME",
      multiple: true,
      description: "Only this event; may be given several times",
    }),
    agent: Flags.string({ helpValue: "NAME", description: "Only calls of this agent" }),
    grep: Flags.string({ helpValue: "PATTERN", description: "Only lines that match this regular expression" }),
  };

  protected async work({ signal }: Interruption): Promise<AuditShowResult> {
    const { flags } = await this.parse(AuditShow);
    const directory = join(findDeployment(flags).home, "logs", "audit");
    const filter = {
      since: flags.since === undefined ? undefined : parseSince(flags.since, new Date()),
      events: flags.event,
      agent: flags.agent,
      grep: flags.grep === undefined ? undefined : parseGrep(flags.grep),
    };
    return { directory, entries: await readAudit(directory, filter, flags.lines, signal) };
  }

  protected render({ directory, entries }: AuditShowResult, mark: Mark): string {
    if (entries.length === 0) return `The audit log in ${directory} has no such line.`;
    return entries.map((entry) => lineOf(entry, mark)).join("\n");
  }
}

/** Who and what first; further fields as they stand. */
function lineOf({ at, event, hash, prev, ...rest }: AuditEntry, mark: Mark): string {
  const { agent, user, by, address, tool, arguments: args, result, outcome, ...others } = rest;
  const who = [agent, user || by, address].filter(Boolean).join(" ");
  const what = [tool, outcome, args === undefined ? undefined : JSON.stringify(args)].filter(Boolean).join(" ");
  const { code, reason, ok, details } = others;
  const more = [
    ok === undefined ? undefined : ok ? "ok" : "failed",
    code,
    reason,
    details === undefined ? undefined : JSON.stringify(details),
    result,
  ];
  const text = [who, what, ...more].filter((part) => part !== undefined && part !== "").join("  ");
  const shown = text.length > MOST_TEXT ? `${text.slice(0, MOST_TEXT).toWellFormed()}…` : text;
  const name = event === "refused" || outcome === "refused" ? mark.warn(String(event)) : String(event);
  return `${mark.dim(String(at))}  ${name}  ${visible(shown)}`;
}
