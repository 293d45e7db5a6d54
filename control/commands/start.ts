import { Flags } from "@oclif/core";
import { BaseCommand } from "../base-command.ts";
import { UsageError } from "../output/failure.ts";
import type { Interruption } from "../output/interruption.ts";
import { startProgress } from "../output/progress.ts";
import type { Mark } from "../output/terminal.ts";
import { findDeployment } from "../service/deployment.ts";
import { launch, type Prepared, prepare, requireFreePort, type StartResult, tokenPlace } from "../service/launch.ts";
import { becomeNode } from "../service/node-process.ts";
import { renderFirstSetup, renderStarted, renderWarnings } from "../service/render-started.ts";
import { refuseSecondNode } from "../service/start-node.ts";

const DEFAULT_TIMEOUT_S = 60;

export default class Start extends BaseCommand<StartResult> {
  static override description =
    "Start the node\n\n" +
    "It runs in the foreground until Ctrl-C or SIGTERM; with --detach in the background, once it is ready. Where there is " +
    "no configuration yet, one is written first, as `init --yes` does.";

  static override examples = [
    "<%= config.bin %> start",
    "<%= config.bin %> start --detach",
    "<%= config.bin %> start --detach --dir ./deployment --json",
  ];

  static override flags = {
    detach: Flags.boolean({ char: "d", description: "Run in the background; return once the node is ready" }),
    timeout: Flags.integer({
      min: 1,
      helpValue: "SECONDS",
      dependsOn: ["detach"],
      description: `How long to wait until the node is ready (default: ${DEFAULT_TIMEOUT_S})`,
    }),
  };

  protected async work({ signal }: Interruption): Promise<StartResult> {
    const { flags } = await this.parse(Start);
    if (this.jsonEnabled() && !flags.detach) {
      throw new UsageError("--json needs a result, and a node in the foreground has none.", "Pass --detach as well.");
    }
    const deployment = findDeployment(flags);
    await refuseSecondNode(deployment.home);
    const prepared = await prepare(deployment, signal);
    if (prepared.init) await this.note(`${renderFirstSetup(prepared.init, this.terminal.errMark)}\n`);
    for (const line of renderWarnings(prepared.warnings, this.terminal.errMark)) await this.note(line);
    await requireFreePort(prepared);
    if (!flags.detach) return this.#foreground(prepared);

    const progress = startProgress(this.terminal);
    progress.update("Starting the node");
    try {
      return await launch(prepared, { deadlineMs: (flags.timeout ?? DEFAULT_TIMEOUT_S) * 1_000, signal });
    } finally {
      await progress.end();
    }
  }

  protected render(result: StartResult, mark: Mark): string {
    return renderStarted(result, mark);
  }

  /** From here on this process is the node: its log, its signals, its exit code. */
  async #foreground({ deployment, config, init }: Prepared): Promise<never> {
    const mark = this.terminal.errMark;
    if (init || this.terminal.errIsTerminal) {
      const { listen, default_agent: agent } = config.config.runtime;
      const address = config.env["SERVICE_LISTEN"] ?? listen;
      // A port that is yet to be found is in the log.
      const at = address.endsWith(":0") ? "" : ` at ${mark.name(`http://${address}`)}`;
      await this.note(`Starting${at}, token: ${tokenPlace(config)}`);
      await this.note(`Talk to ${mark.name(agent)} from another terminal: ${mark.title("`cairn chat`")}\n`);
    }
    return becomeNode(deployment);
  }
}
