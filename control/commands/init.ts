import process from "node:process";
import { Flags } from "@oclif/core";
import { BaseCommand } from "../base-command.ts";
import type { Interruption } from "../output/interruption.ts";
import type { Mark } from "../output/terminal.ts";
import { answerFlags } from "../wizard/answer-flags.ts";
import type { InitResult } from "../wizard/init.ts";
import { renderInit } from "../wizard/render.ts";
import { asksQuestions, runSetup } from "../wizard/run.ts";

const MESH = "MESH";

export default class Init extends BaseCommand<InitResult> {
  static override summary = "Set up a deployment";

  static override description =
    "Looks at this machine, asks, shows what it would write, and writes cairn.yaml, .env, workspace/, .gitignore and infra/, " +
    "all of them or none. Each question has a flag; what a flag or a file answers is not asked.\n\n" +
    "Keys and tokens are only referred to, by the names of their variables; --save-key copies their values into .env. Files " +
    "that exist are kept, and a configuration that is there is changed in place.";

  static override examples = [
    "<%= config.bin %> init",
    "<%= config.bin %> init --yes",
    "<%= config.bin %> init --yes --dir ./deployment --provider openai --model gpt-5.5",
    "<%= config.bin %> init --yes --target docker --docker-host ssh://cairn@server --node nova --node iris",
    "<%= config.bin %> init --answers answers.yaml --json",
    "<%= config.bin %> init --yes --join nova.example.org --token-file join-token",
  ];

  static override flags = {
    yes: Flags.boolean({ char: "y", description: "Ask nothing: what is not answered is decided by what is found" }),
    answers: Flags.string({ helpValue: "FILE", description: "Answers in YAML or JSON; flags overrule them" }),
    resume: Flags.boolean({
      allowNo: true,
      description: "Go on with the answers of an interrupted setup, or forget them",
    }),
    force: Flags.boolean({ description: "Write a new cairn.yaml even if there is one; a copy of it is kept" }),
    join: Flags.string({
      helpValue: "HOST",
      helpGroup: MESH,
      description: "Join the mesh of the node at this address",
    }),
    "token-file": Flags.string({
      helpValue: "FILE",
      dependsOn: ["join"],
      helpGroup: MESH,
      description: "With --join: the token, its first line; - is standard input (default: asked for on a terminal)",
    }),
    "join-as": Flags.string({
      helpValue: "NAME",
      dependsOn: ["join"],
      helpGroup: MESH,
      description: "With --join: name of this node in the mesh (default: the host's name)",
    }),
    advertise: Flags.string({
      helpValue: "ADDRESS",
      dependsOn: ["join"],
      helpGroup: MESH,
      description: "With --join: where other nodes reach this one; without it it calls, and is not called",
    }),
    ...answerFlags(),
  };

  #asks = false;

  protected async work({ signal }: Interruption): Promise<InitResult> {
    const { flags } = await this.parse(Init);
    this.#asks = asksQuestions(flags, this.terminal, this.jsonEnabled());
    const { join, advertise, "token-file": file, "join-as": name } = flags;
    const setup = () =>
      runSetup({ purpose: "create", flags, terminal: this.terminal, json: this.jsonEnabled(), signal });
    if (join === undefined) return setup();
    const { setUpToJoin } = await import("../mesh/join-setup.ts");
    const note = (text: string): Promise<void> => this.note(text);
    const token = { file, terminal: this.terminal, signal, note };
    return setUpToJoin({ host: join, name, advertise, flags, token, setup });
  }

  protected override async afterwards(result: InitResult, interruption: Interruption): Promise<void> {
    if (!this.#asks) return;
    const { finishSetup } = await import("../wizard/finish.ts");
    const say = (text: string): Promise<void> => this.note(text);
    const code = await finishSetup({ result, mark: this.terminal.errMark, interruption, say });
    if (code !== 0) process.exitCode = code;
  }

  protected render(result: InitResult, mark: Mark): string {
    return renderInit(result, mark, { width: process.stdout.columns, typed: (text) => this.typed(text) });
  }
}
