import { randomUUID } from "node:crypto";
import { Flags } from "@oclif/core";
import { NodeCommand } from "../node-command.ts";
import { EXIT } from "../output/failure.ts";
import type { Interruption } from "../output/interruption.ts";
import type { Mark } from "../output/terminal.ts";
import { visible } from "../output/visible.ts";
import { type SelfTest, type Step, selfTest } from "../self-test/self-test.ts";
import { localServices } from "../service/channel-services.ts";
import { defaultAgent, openConnection } from "../service/connect.ts";
import { findDeployment } from "../service/deployment.ts";
import { localSandbox } from "../service/sandbox.ts";

export default class Test extends NodeCommand<SelfTest> {
  static override summary = "Test the running node end to end";

  static override description =
    "Asks the node, the store, the queues and each channel, sends one short message to an agent and finds it again, and one to " +
    "an agent of each other provider. Messages and answers stay in the memory, as all others do. Exit code 1 when a step fails.";

  static override examples = ["<%= config.bin %> test", "<%= config.bin %> test --quick --json"];

  static override flags = {
    quick: Flags.boolean({ description: "Ask no model and write nothing" }),
    verbose: Flags.boolean({ char: "v", description: "Show how long each step took, and which were skipped" }),
    agent: Flags.string({ helpValue: "NAME", description: "Agent to talk to (default: the default agent)" }),
    timeout: Flags.integer({
      default: 60,
      min: 1,
      helpValue: "SECONDS",
      description: "Longest time of one step, and of each provider",
    }),
  };

  #verbose = false;

  protected async work({ signal }: Interruption): Promise<SelfTest> {
    const { flags } = await this.parse(Test);
    this.#verbose = flags.verbose;
    const deployment = findDeployment(flags);
    const { client, close } = await openConnection(deployment, signal, flags);
    try {
      const agent = flags.agent ?? (await defaultAgent(deployment, client));
      const marker = `zx${randomUUID().replaceAll("-", "").slice(0, 14)}`;
      const sandbox = await localSandbox(deployment);
      const services = await localServices(deployment);
      const timeoutMs = flags.timeout * 1_000;
      return await selfTest({
        client,
        agent,
        quick: flags.quick,
        marker,
        timeoutMs,
        signal,
        ...(sandbox && { sandbox }),
        ...(services && { services }),
      });
    } finally {
      await close();
    }
  }

  protected override exitCodeOf({ status }: SelfTest): number {
    return status === "pass" ? EXIT.done : EXIT.failed;
  }

  protected render({ steps, status }: SelfTest, mark: Mark): string {
    const shown = steps.filter((step) => this.#verbose || step.status !== "skip");
    const warned = steps.some((step) => step.status === "warn");
    const well = warned ? mark.warn("The node works, but for what is said above.") : mark.good("All is well.");
    const end = status === "pass" ? well : mark.error("Something is wrong.");
    return [...shown.map((step) => this.#line(step, mark)), end].join("\n");
  }

  #line({ name, status, message, fix, parts = [], duration_ms: took }: Step, mark: Mark): string {
    const signs = {
      pass: mark.good("ok  "),
      warn: mark.warn("warn"),
      fail: mark.error("fail"),
      skip: mark.dim("skip"),
    };
    const time = this.#verbose ? mark.dim(` (${took} ms)`) : "";
    const wrong = parts.filter((part) => part.status === "fail");
    const fixes = wrong.length > 0 ? wrong.map((part) => `${part.id}: ${part.fix ?? ""}`) : fix === null ? [] : [fix];
    const help = [...new Set(fixes)].map((text) => `\n     ${mark.dim(visible(text))}`).join("");
    return `${signs[status]} ${name.padEnd(8)} ${visible(message)}${time}${help}`;
  }
}
