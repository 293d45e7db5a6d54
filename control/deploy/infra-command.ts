/** What the commands of `infra` share: the flags, the events, the questions, and a Ctrl-C that lets the engine end its step. */

import { Flags } from "@oclif/core";
import { BaseCommand } from "../base-command.ts";
import type { Interruption } from "../output/interruption.ts";
import { type Deployment, findDeployment } from "../service/deployment.ts";
import { eventOutput } from "./event-output.ts";
import { defaultServices } from "./operations/default-services.ts";
import type { OperationInput, Prompts, Services } from "./operations/services.ts";
import { terminalPrompts } from "./prompts.ts";
import { stopping } from "./stopping.ts";

export const backendFlag = Flags.string({
  helpValue: "URL",
  description: "Pulumi backend that keeps the state, such as s3://bucket (default: the folder infra/state); remembered",
});

export const eventsFlag = Flags.boolean({
  description: "Tell what goes on as JSON lines on standard error",
});

export const yesFlag = Flags.boolean({ char: "y", description: "Do not ask; needed without a terminal" });

export interface SharedFlags {
  readonly dir?: string | undefined;
  readonly backend?: string | undefined;
  readonly "json-events"?: boolean | undefined;
}

export abstract class InfraCommand<Result> extends BaseCommand<Result> {
  /** What the operation is handed. */
  protected services(deployment: Deployment, prompts: Prompts | null): Services {
    return defaultServices({ deployment, root: this.config.root, prompts });
  }

  /** Calls the operation. The first Ctrl-C lets the engine end the step that it is at, the second ends it at once. */
  protected async operate<T>(
    flags: SharedFlags,
    interruption: Interruption,
    work: (run: OperationInput) => Promise<T>,
  ): Promise<T> {
    const deployment = findDeployment(flags);
    const output = eventOutput(this.terminal, flags["json-events"] === true);
    const stop = stopping(interruption, () => {
      void output.pause().then(() => this.note("Stopping once the current step is done; Ctrl-C again ends it now."));
    });
    const prompts = this.jsonEnabled() ? null : terminalPrompts(this.terminal, output.pause);
    try {
      return await work({
        dir: deployment.dir,
        backend: flags.backend,
        services: this.services(deployment, prompts),
        onEvent: output.show,
        signal: stop.signal,
        killSignal: stop.killSignal,
      });
    } catch (error) {
      throw stop.signal.aborted ? stop.signal.reason : error;
    } finally {
      stop.release();
      await output.pause();
    }
  }
}
