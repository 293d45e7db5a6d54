/** What most operations begin with: the project read, its driver and engine made. */

import { InfraError } from "../../../runtime/contracts/errors.ts";
import type { TargetDriver } from "../driver.ts";
import type { ExportedState } from "../engine/checkpoint.ts";
import type { Engine, RunInput } from "../engine/engine.ts";
import type { EngineNote } from "../engine/notes.ts";
import { redactable, redactText } from "../engine/redact.ts";
import { backendUrl, type InfraFiles, infraFiles } from "../files.ts";
import { offerCopy } from "../state/copies.ts";
import { checkPassphrase } from "../state/passphrase.ts";
import { createRunLog, type RunLog } from "../state/run-log.ts";
import { givenBackend } from "./backend.ts";
import { recordMachines } from "./machines.ts";
import { readRecord } from "./record.ts";
import type { OperationInput, ReadProject } from "./services.ts";
import { givingUp } from "./target-watch.ts";
import { gatherUnanswered, type Unanswered } from "./unanswered.ts";

export interface Session {
  readonly run: OperationInput;
  readonly project: ReadProject;
  readonly files: InfraFiles;
  readonly driver: TargetDriver;
  readonly engine: Engine;
  readonly log: RunLog;
  /** Text without the project's secrets. */
  redact(text: string): string;
  /** Begins a part of the work, and emits an event. `total`: resources that it changes, where that is known. */
  phase(name: string, message: string, total?: number): void;
  report(text: string): void;
  warn(text: string): void;
  /** Of this run. */
  readonly unanswered: Unanswered;
  engineRun(signal?: AbortSignal): RunInput;
  /** The recorded state; null where nothing was deployed. INFRA_STATE_UNREADABLE offers a copy. */
  state(): Promise<ExportedState | null>;
}

/** Errors of `readProject`; INFRA_TARGET_MANUAL, INFRA_PASSPHRASE_LOST, INFRA_TOOL_MISSING; INFRA_UP_REFUSED under another name. */
export async function openSession(
  run: OperationInput,
  { measure = false }: { readonly measure?: boolean } = {},
): Promise<Session> {
  const { dir, services, signal, killSignal } = run;
  const project = await readMeasured(run, measure);
  const { stack, target } = project.plan;
  const files = infraFiles(dir, stack);
  await refuseOtherStack(dir, stack);
  const backend = await givenBackend(dir, run.backend);
  await services.render(dir, { stack, backend, force: false, signal });
  await checkPassphrase(files, stack);
  const time = (): string => services.now().toISOString();
  const message = (severity: "info" | "warning", text: string): void =>
    run.onEvent({ schema: 1, event: "message", time: time(), severity, message: text, urn: null });
  const report = (text: string): void => message("info", text);
  const secrets = redactable(project.redactValues);
  const redact = (text: string): string => redactText(text, secrets);
  const log = createRunLog({ folder: files.logs, redact, now: services.now });
  const lost = new AbortController();
  const [driver, opened] = await Promise.all([
    services.createDriver(project),
    services.openEngine({
      files,
      stack,
      target,
      backend: backendUrl(files, backend),
      secrets: project.redactValues,
      report,
      log,
      killSignal: AbortSignal.any([killSignal, lost.signal]),
    }),
  ]);
  const engine = givingUp(opened, { driver, lost, sleep: services.sleep });
  const unanswered = gatherUnanswered();
  const onNote = (note: EngineNote): void => {
    unanswered.see(note);
    run.onEvent(asEvent(note, time()));
  };
  return {
    run,
    project,
    files,
    driver,
    engine,
    log,
    redact,
    report,
    warn: (text) => message("warning", text),
    unanswered,
    phase: (phase, text, total) =>
      run.onEvent({
        schema: 1,
        event: "phase",
        time: time(),
        phase,
        message: text,
        ...(total === undefined ? {} : { total }),
      }),
    engineRun: (own) => ({ onNote, signal: own ?? signal }),
    async state() {
      try {
        return await engine.state();
      } catch (error) {
        throw await offerCopy(files, error);
      }
    },
  };
}

/** `measure`: the sizes of new machines are recorded first, since limits may come from them. */
async function readMeasured(run: OperationInput, measure: boolean): Promise<ReadProject> {
  const { dir, services, signal } = run;
  const project = await services.readProject(dir, signal);
  if (!measure || !(await recordMachines(run, await services.createDriver(project)))) return project;
  return services.readProject(dir, signal);
}

/** Under another name nothing would be found, and what runs would be called not deployed. */
async function refuseOtherStack(dir: string, stack: string): Promise<void> {
  const record = await readRecord(dir);
  if (record === null || record.stack === stack || record.nodes.length === 0) return;
  throw new InfraError(
    "INFRA_UP_REFUSED",
    `The stack ${record.stack} is deployed from here, and the configuration names ${stack}.`,
    {
      hint:
        `Set deployment.name back to ${record.stack}. To deploy under another name, run \`cairn infra destroy\` first: ` +
        "the data stay, under the old name.",
    },
  );
}

function asEvent(note: EngineNote, time: string): Parameters<OperationInput["onEvent"]>[0] {
  if (note.kind === "message") {
    const { severity, message, urn } = note;
    return { schema: 1, event: "message", time, severity, message, urn };
  }
  const { op, state, type, name, urn } = note;
  return { schema: 1, event: "resource", time, op, state, type, name, urn };
}
