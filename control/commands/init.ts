import { homedir } from "node:os";
import process from "node:process";
import { Flags } from "@oclif/core";
import { resolveDirectories } from "../../runtime/config/index.ts";
import { BaseCommand } from "../base-command.ts";
import { UsageError } from "../output/failure.ts";
import type { Interruption } from "../output/interruption.ts";
import type { Mark } from "../output/terminal.ts";
import { readAnswersFile } from "../wizard/answers.ts";
import { flagAnswers, initFlags } from "../wizard/flags.ts";
import { type InitResult, initYes } from "../wizard/init.ts";
import { renderInit } from "../wizard/render.ts";

export default class Init extends BaseCommand<InitResult> {
  static override summary = "Set up a deployment";

  static override description =
    "Writes cairn.yaml, .env, workspace/ and .gitignore into the deployment directory, all of them or none.\n\n" +
    "The provider is the one whose API key is in the environment, else a local model server on its usual port, else " +
    "`offline`. The key itself is only referred to; --save-key copies it into .env. Files that exist are kept.";

  static override examples = [
    "<%= config.bin %> init --yes",
    "<%= config.bin %> init --yes --dir ./deployment --provider openai --model gpt-5.5",
    "<%= config.bin %> init --answers answers.yaml --json",
  ];

  static override flags = {
    yes: Flags.boolean({ char: "y", description: "Ask nothing: use what is found on this machine" }),
    answers: Flags.string({ helpValue: "FILE", description: "Answers in YAML or JSON; flags overrule them" }),
    force: Flags.boolean({ description: "Write a new cairn.yaml even if there is one; a copy of it is kept" }),
    ...initFlags,
  };

  protected async work({ signal }: Interruption): Promise<InitResult> {
    const { flags } = await this.parse(Init);
    if (!flags.yes && flags.answers === undefined) {
      throw new UsageError(
        "A setup needs answers.",
        "Pass --yes to use what is found on this machine, or --answers FILE.",
      );
    }
    const directories = resolveDirectories({ flags, env: process.env, cwd: process.cwd(), homedir: homedir() });
    const fromFile = flags.answers === undefined ? {} : await readAnswersFile(flags.answers);
    return initYes({
      directories,
      env: process.env,
      answers: flagAnswers(flags, fromFile),
      force: flags.force,
      signal,
    });
  }

  protected render(result: InitResult, mark: Mark): string {
    return renderInit(result, mark);
  }
}
