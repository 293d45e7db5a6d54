import { Args, Flags } from "@oclif/core";
import { checkSkill, issueWords } from "../../../runtime/config/skills.ts";
import type { SkillIssue } from "../../../runtime/contracts/skill.ts";
import { BaseCommand } from "../../base-command.ts";
import { EXIT } from "../../output/failure.ts";
import type { Mark } from "../../output/terminal.ts";
import { visible } from "../../output/visible.ts";

export interface SkillValidateResult {
  readonly valid: boolean;
  readonly name: string;
  readonly path: string;
  readonly errors: readonly Omit<SkillIssue, "severity">[];
  readonly warnings: readonly Omit<SkillIssue, "severity">[];
}

export default class SkillValidate extends BaseCommand<SkillValidateResult> {
  static override description =
    "Check a skill: its front matter, its triggers and the files that it refers to\n\n" +
    "Reads the folder as a node does, and changes nothing. Exit code 1 when it is not valid.";

  static override examples = [
    "<%= config.bin %> skill validate ./release-notes",
    "<%= config.bin %> skill validate ./release-notes --strict --json",
  ];

  static override args = {
    path: Args.string({ ignoreStdin: true, required: true, description: "Folder of the skill, or its SKILL.md" }),
  };

  static override flags = {
    strict: Flags.boolean({ description: "Let warnings count as errors" }),
  };

  #strict = false;

  protected async work(): Promise<SkillValidateResult> {
    const { args, flags } = await this.parse(SkillValidate);
    this.#strict = flags.strict;
    const { path, name, issues } = await checkSkill(args.path);
    const of = (wanted: SkillIssue["severity"]) =>
      issues.flatMap(({ severity, ...issue }) => (severity === wanted ? [issue] : []));
    const errors = of("error");
    return { valid: errors.length === 0, name, path, errors, warnings: of("warning") };
  }

  protected override exitCodeOf({ valid, warnings }: SkillValidateResult): number {
    return valid && !(this.#strict && warnings.length > 0) ? EXIT.done : EXIT.failed;
  }

  protected render({ valid, path, errors, warnings }: SkillValidateResult, mark: Mark): string {
    const words = (issue: Omit<SkillIssue, "severity">) => `  ${visible(issueWords(issue))}`;
    const lines = valid ? [`${mark.good("Valid:")} ${visible(path)}`] : [mark.error(`Not valid: ${visible(path)}`)];
    if (warnings.length > 0) lines.push(...errors.map(words), mark.warn("Warnings:"), ...warnings.map(words));
    else lines.push(...errors.map(words));
    return lines.join("\n");
  }
}
