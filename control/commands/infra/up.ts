import process from "node:process";
import { Flags } from "@oclif/core";
import { codeOf } from "../../../runtime/contracts/system-errors.ts";
import { SUPPORTED_SKEW } from "../../../runtime/contracts/version-skew.ts";
import { backendFlag, eventsFlag, InfraCommand, yesFlag } from "../../deploy/infra-command.ts";
import { roll } from "../../deploy/operations/roll/roll.ts";
import { up } from "../../deploy/operations/up.ts";
import type { UpResult } from "../../deploy/schemas.ts";
import { upText } from "../../deploy/words.ts";
import { EXIT } from "../../output/failure.ts";
import type { Interruption } from "../../output/interruption.ts";
import type { Mark } from "../../output/terminal.ts";

export default class InfraUp extends InfraCommand<UpResult | null> {
  #roll = false;

  static override description =
    "Deploy what the configuration says\n\n" +
    "Shows the changes and asks, then applies them and waits until the nodes are healthy. Nodes without an image get the one that " +
    "was built last; where there is none, it is built or pulled. A change that would stop more than one running node is refused: " +
    "--roll applies it to one after the other, tests each, and gives one that fails back what it had. " +
    `${SUPPORTED_SKEW} ` +
    "Data that stand on the " +
    "target already are taken over after a question and never overwritten. The exit code is 0 when every node is healthy, else 1; " +
    "with --roll also 3 where another command holds the stack, 4 where a node neither passed nor came back.";

  static override examples = [
    "<%= config.bin %> infra up",
    "<%= config.bin %> infra up --yes --json",
    "<%= config.bin %> infra up --roll",
    "<%= config.bin %> infra up --node worker --image registry.example.org/team/cairn@sha256:0123...",
  ];

  static override flags = {
    yes: yesFlag,
    node: Flags.string({ helpValue: "NAME", description: "Change this node alone, and what it needs" }),
    roll: Flags.boolean({
      exclusive: ["node"],
      description: "One node after the other, each tested; one that fails gets back what it had",
    }),
    "on-failure": Flags.option({
      options: ["rollback", "pause"] as const,
      dependsOn: ["roll"],
      description:
        "With --roll, where a node fails: those before it go back as well (the default), or keep what they got",
    })(),
    image: Flags.string({
      helpValue: "IMAGE",
      description: "Give the nodes this image: a name, an id or repository@sha256:...",
    }),
    adopt: Flags.boolean({ description: "Take over data of an earlier stack without asking" }),
    backend: backendFlag,
    "json-events": eventsFlag,
  };

  protected async work(interruption: Interruption): Promise<UpResult | null> {
    const { flags } = await this.parse(InfraUp);
    const { node, image, adopt, yes, "on-failure": onFailure = "rollback" } = flags;
    if (!flags.roll) return this.operate(flags, interruption, (run) => up(run, { node, image, adopt, yes }));
    this.#roll = true;
    return this.operate(flags, interruption, (run) => roll(run, { image, adopt, yes, onFailure }));
  }

  protected override exitCodeOf(result: UpResult | null): number {
    if (result?.roll?.outcome === "operator") return EXIT.operator;
    return result?.healthy ? EXIT.done : EXIT.failed;
  }

  protected override async catch(error: Error): Promise<void> {
    await super.catch(error);
    if (this.#roll && codeOf(error) === "INFRA_LOCKED") process.exitCode = EXIT.locked;
  }

  protected render(result: UpResult | null, mark: Mark): string {
    return result === null ? "Nothing was changed." : upText(result, mark);
  }
}
