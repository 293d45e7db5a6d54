import process from "node:process";
import { Flags } from "@oclif/core";
import { BaseCommand } from "../base-command.ts";
import { EXIT, UsageError } from "../output/failure.ts";
import type { Interruption } from "../output/interruption.ts";
import { startProgress } from "../output/progress.ts";
import type { Mark } from "../output/terminal.ts";
import { visibleExceptMarks } from "../output/visible.ts";
import { findDeployment } from "../service/deployment.ts";
import { launch, type Prepared, prepare, requireFreePort, type StartResult, tokenPlace } from "../service/launch.ts";
import { becomeNode } from "../service/node-process.ts";
import { foundBy } from "../service/ready/found.ts";
import { ownsTerminal } from "../service/ready/own-terminal.ts";
import { type ReadyPage, renderNodeEnd, renderReady } from "../service/ready/render-ready.ts";
import { type NodeEnd, openReadyScreen } from "../service/ready/screen.ts";
import { renderFirstSetup, renderStarted, renderWarnings } from "../service/render-started.ts";
import { refuseSecondNode, startAttached } from "../service/start-node.ts";

const DEFAULT_TIMEOUT_S = 60;
/** A person looks on, and may wait for a database: the longest that a timer takes, 24 days. */
const NO_DEADLINE_MS = 2 ** 31 - 1;

export default class Start extends BaseCommand<StartResult> {
  static override description =
    "Start the node\n\n" +
    "It runs in the foreground until Ctrl-C or SIGTERM; with --detach in the background, once it is ready. On a terminal, " +
    "keys then open a chat, doctor and the log; elsewhere the log is printed. Where there is no configuration yet, one is " +
    "written first, as `init --yes` does.";

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

  /** How the node of a terminal ended; null while there is none. */
  #end: NodeEnd | null = null;

  protected async work(interruption: Interruption): Promise<StartResult> {
    const { signal } = interruption;
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
    if (!flags.detach) {
      return (await ownsTerminal(this.terminal)) ? this.#screen(prepared, interruption) : this.#foreground(prepared);
    }

    const progress = startProgress(this.terminal);
    progress.update("Starting the node");
    try {
      return await launch(prepared, { deadlineMs: (flags.timeout ?? DEFAULT_TIMEOUT_S) * 1_000, signal });
    } finally {
      await progress.end();
    }
  }

  protected render(result: StartResult, mark: Mark): string {
    return this.#end ? renderNodeEnd(this.#end, this.#page(mark)) : renderStarted(result, mark);
  }

  protected override exitCodeOf(): number {
    return this.#end?.kind === "failed" ? EXIT.failed : EXIT.done;
  }

  #page(mark: Mark): ReadyPage {
    return { mark, width: process.stdout.columns, typed: (text) => this.typed(text) };
  }

  /** The node is a child whose log is in its files only, and ends with the screen. */
  async #screen(prepared: Prepared, interruption: Interruption): Promise<StartResult> {
    const { deployment, config, init } = prepared;
    const { signal } = interruption;
    // The drain takes as long as the node's configuration allows.
    const letGo = interruption.hold();
    try {
      await this.note(`Starting the node; its log is in ${deployment.home}/logs.`);
      const { node, url } = await startAttached(deployment, { deadlineMs: NO_DEADLINE_MS, signal });
      const token = tokenPlace(config);
      const agent = config.config.runtime.default_agent;
      this.#end = await openReadyScreen(node, {
        deployment,
        interruption,
        show: async () => {
          const found = await foundBy(prepared, url, signal);
          await this.terminal.out(`\n${visibleExceptMarks(renderReady(found, this.#page(this.terminal.mark)))}\n`);
        },
        say: (text) => this.note(text),
      });
      return { pid: node.pid, url, dir: deployment.dir, home: deployment.home, token, agent, init };
    } finally {
      letGo();
    }
  }

  /** From here on this process is the node: its log, its signals, its exit code. */
  async #foreground({ deployment, config, init }: Prepared): Promise<never> {
    const mark = this.terminal.errMark;
    // Also where only the input comes from elsewhere, or the job is in the background.
    if (init || this.terminal.errIsTerminal) {
      const { listen: address, default_agent: agent } = config.config.runtime;
      // A port that is yet to be found is in the log.
      const at = address.endsWith(":0") ? "" : ` at ${mark.name(`http://${address}`)}`;
      await this.note(`Starting${at}, token: ${tokenPlace(config)}`);
      await this.note(`Talk to ${mark.name(agent)} from another terminal: ${mark.title("`cairn chat`")}\n`);
    }
    return becomeNode(deployment);
  }
}
