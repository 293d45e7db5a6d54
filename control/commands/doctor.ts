import process from "node:process";
import { Flags } from "@oclif/core";
import { BaseCommand } from "../base-command.ts";
import { confirmRepairs } from "../doctor/confirm.ts";
import { DEFAULT_TIMEOUT_MS, DEPLOYED_TIMEOUT_MS, type DoctorInput, examine, examineAndFix } from "../doctor/doctor.ts";
import { leaveWhenSaid } from "../doctor/leave.ts";
import { renderDiff, renderProblems, renderReport } from "../doctor/render.ts";
import type { Report } from "../doctor/report.ts";
import { EXIT, needsTerminal, UsageError } from "../output/failure.ts";
import type { Interruption } from "../output/interruption.ts";
import type { Mark } from "../output/terminal.ts";

const LONGEST_S = 600;

export default class Doctor extends BaseCommand<Report> {
  static override summary = "Check this deployment, from the machine to the model";

  static override description =
    "Looks at twelve categories side by side, with the node running or not, and changes nothing without --fix.\n\n" +
    "The exit code is 0 when nothing fails, 1 when something does (with --strict also for warnings), and 2 when " +
    "the checks themselves could not be run.";

  static override examples = [
    "<%= config.bin %> doctor",
    "<%= config.bin %> doctor --json --strict",
    "<%= config.bin %> doctor --only database,providers.keys",
    "<%= config.bin %> doctor --only security",
    "<%= config.bin %> doctor --skip providers --timeout 10",
    "<%= config.bin %> doctor --quiet",
    "<%= config.bin %> doctor --fix",
  ];

  static override flags = {
    fix: Flags.boolean({ description: "Show what can be repaired, ask, repair it, and check again" }),
    yes: Flags.boolean({ char: "y", dependsOn: ["fix"], description: "Repair without asking" }),
    quiet: Flags.boolean({ char: "q", description: "Show the problems alone; nothing where there is none" }),
    strict: Flags.boolean({ description: "Let warnings count as failures" }),
    only: Flags.string({
      multiple: true,
      delimiter: ",",
      helpValue: "ID",
      description: "Only these checks: ids, categories or `security`, separated by commas",
    }),
    skip: Flags.string({
      multiple: true,
      delimiter: ",",
      helpValue: "ID",
      description: "Not these checks: ids, categories or `security`, separated by commas",
    }),
    timeout: Flags.string({
      helpValue: "SECONDS",
      description: `How long each check may take (default: ${DEFAULT_TIMEOUT_MS / 1_000}, of a deployed stack ${DEPLOYED_TIMEOUT_MS / 1_000})`,
    }),
  };

  #strict = false;
  #quiet = false;

  protected async work({ signal }: Interruption): Promise<Report> {
    const { flags } = await this.parse(Doctor);
    this.#strict = flags.strict;
    this.#quiet = flags.quiet;
    const asks = flags.fix && !flags.yes;
    if (asks && (this.jsonEnabled() || !this.terminal.inIsTerminal || !this.terminal.errIsTerminal)) {
      throw needsTerminal("Whether to repair", "--yes");
    }
    const { root, version } = this.config;
    const input: DoctorInput = {
      flags,
      env: process.env,
      cwd: process.cwd(),
      root,
      version,
      only: flags.only,
      skip: flags.skip,
      signal,
      ...(flags.timeout === undefined ? {} : { timeoutMs: milliseconds(flags.timeout) }),
    };
    const { report, late } = flags.fix
      ? await examineAndFix(input, {
          confirm: async (diff, count) => {
            await this.note(renderDiff(diff, this.terminal.errMark));
            return !asks || confirmRepairs(count, signal);
          },
        })
      : await examine(input);
    if (late) leaveWhenSaid();
    return report;
  }

  protected override exitCodeOf({ status }: Report): number {
    return status === "fail" || (this.#strict && status === "warn") ? EXIT.failed : EXIT.done;
  }

  protected render(report: Report, mark: Mark): string {
    const checks = report.checks.map((check) => ({
      ...check,
      message: this.typed(check.message),
      ...(check.fix === undefined ? {} : { fix: this.typed(check.fix) }),
    }));
    const render = this.#quiet ? renderProblems : renderReport;
    return render({ ...report, checks }, mark, process.stdout.columns);
  }

  /** A failure of a check is in the report: what is thrown means that doctor itself could not run. */
  protected override async catch(error: Error): Promise<void> {
    await super.catch(error);
    if (process.exitCode === EXIT.failed) process.exitCode = EXIT.usage;
  }
}

function milliseconds(text: string): number {
  const seconds = Number(text);
  if (text.trim() !== "" && seconds > 0 && seconds <= LONGEST_S) return seconds * 1_000;
  throw new UsageError(
    `--timeout: ${JSON.stringify(text)} is no time.`,
    `Give seconds, at most ${LONGEST_S}, such as 2.5.`,
  );
}
