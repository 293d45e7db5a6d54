import { Flags } from "@oclif/core";
import { BaseCommand } from "../../base-command.ts";
import type { Interruption } from "../../output/interruption.ts";
import type { Mark } from "../../output/terminal.ts";
import { answerFlags } from "../../wizard/answer-flags.ts";
import type { InitResult } from "../../wizard/init.ts";
import { renderInit } from "../../wizard/render.ts";
import { asksQuestions, runSetup } from "../../wizard/run.ts";

export default class ConfigCommand extends BaseCommand<InitResult> {
  static override summary = "Change the setup of a deployment";

  static override description =
    "Asks the questions of `init` with what cairn.yaml says as their answers, shows the difference, and writes only that. " +
    "Comments, unknown keys and references such as ${NAME} stay as they are. With --yes nothing is asked: the flags are what " +
    "changes.";

  static override examples = [
    "<%= config.bin %> config",
    "<%= config.bin %> config --yes --timezone Europe/Berlin",
    "<%= config.bin %> config --yes --channel telegram --channel-owner telegram=123456789",
  ];

  static override flags = {
    yes: Flags.boolean({ char: "y", description: "Ask nothing: change what the flags say" }),
    answers: Flags.string({ helpValue: "FILE", description: "Answers in YAML or JSON; flags overrule them" }),
    resume: Flags.boolean({
      allowNo: true,
      description: "Go on with the answers of an interrupted setup, or forget them",
    }),
    ...answerFlags(),
  };

  #reviewed = false;

  protected async work({ signal }: Interruption): Promise<InitResult> {
    const { flags } = await this.parse(ConfigCommand);
    this.#reviewed = asksQuestions(flags, this.terminal, this.jsonEnabled());
    return runSetup({ purpose: "change", flags, terminal: this.terminal, json: this.jsonEnabled(), signal });
  }

  protected render(result: InitResult, mark: Mark): string {
    return renderInit(result, mark, {
      width: process.stdout.columns,
      reviewed: this.#reviewed,
      typed: (text) => this.typed(text),
    });
  }
}
