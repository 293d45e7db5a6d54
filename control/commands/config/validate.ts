import { homedir } from "node:os";
import process from "node:process";
import { Flags } from "@oclif/core";
import {
  type ConfigIssue,
  formatIssue,
  formatReport,
  inspectConfig,
  resolveDirectories,
} from "../../../runtime/config/index.ts";
import { BaseCommand } from "../../base-command.ts";
import { EXIT } from "../../output/failure.ts";
import type { Interruption } from "../../output/interruption.ts";
import type { Mark } from "../../output/terminal.ts";

export interface ValidateResult {
  readonly valid: boolean;
  readonly file: string;
  readonly errors: readonly ConfigIssue[];
  readonly warnings: readonly ConfigIssue[];
}

export default class ConfigValidate extends BaseCommand<ValidateResult> {
  static override summary = "Check cairn.yaml and .env";

  static override description =
    "Reads the configuration as `start` does, with its references to the environment and to the password manager, " +
    "starts nothing and changes nothing. Exit code 1 when it is not valid.";

  static override examples = ["<%= config.bin %> config validate", "<%= config.bin %> config validate --strict --json"];

  static override flags = {
    strict: Flags.boolean({ description: "Let warnings count as errors" }),
    deployment: Flags.boolean({ description: "Also need what only deployment commands refer to" }),
  };

  #strict = false;

  protected async work({ signal }: Interruption): Promise<ValidateResult> {
    const { flags } = await this.parse(ConfigValidate);
    this.#strict = flags.strict;
    const { dir, home } = resolveDirectories({ flags, env: process.env, cwd: process.cwd(), homedir: homedir() });
    const { file, errors, warnings } = await inspectConfig({ dir, home, deployment: flags.deployment, signal });
    return { valid: errors.length === 0, file, errors, warnings };
  }

  protected override exitCodeOf({ valid, warnings }: ValidateResult): number {
    return valid && !(this.#strict && warnings.length > 0) ? EXIT.done : EXIT.failed;
  }

  protected render({ valid, file, errors, warnings }: ValidateResult, mark: Mark): string {
    const lines = valid ? [`${mark.good("Valid:")} ${file}`] : [mark.error(formatReport(file, errors))];
    if (warnings.length > 0) lines.push(mark.warn(warnings.length === 1 ? "1 warning" : `${warnings.length} warnings`));
    return [...lines, ...warnings.map(formatIssue)].join("\n");
  }
}
