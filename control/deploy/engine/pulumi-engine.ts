/** The engine behind the interface: Pulumi's Automation API over the rendered project. */

import { existsSync } from "node:fs";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { EngineEvent, PulumiFn, Stack } from "@pulumi/pulumi/automation/index.js";
import { parse } from "yaml";
import { InfraError } from "../../../runtime/contracts/errors.ts";
import { writeDurably } from "../../../runtime/files/durable.ts";
import type { InfraFiles } from "../files.ts";
import type { Diff } from "../schemas.ts";
import type { RunLog } from "../state/run-log.ts";
import { type ExportedState, exportedState, readStored, toStored } from "./checkpoint.ts";
import { diffBuilder } from "./diff.ts";
import type { Applied, Engine, EngineLock, PreviewRun, ProgramRun, RunInput } from "./engine.ts";
import { describeEngineFailure, type EngineFailure } from "./failure.ts";
import { reportOf } from "./failure-report.ts";
import { localFolder, scratchBackend } from "./folder-backend.ts";
import { locksFolder, PROJECT, readEngineLocks, removeBrokenLocks } from "./locks.ts";
import { noteOf, saidIn } from "./notes.ts";
import { type PulumiCli, PulumiFailure } from "./pulumi-cli.ts";
import { redactable, redactor, redactText } from "./redact.ts";
import { parseUrn } from "./urn.ts";

export interface EngineOptions {
  /** Found, or installed, when it is first needed: reading a state in a folder does without. */
  readonly cli: () => Promise<PulumiCli>;
  readonly files: InfraFiles;
  readonly stack: string;
  readonly target: string;
  readonly backend: string;
  /** Values that may not be shown, also where the engine does not mark them as secret. */
  readonly secrets: readonly string[];
  /** Where everything goes that was said in a run that failed. */
  readonly log: RunLog;
}

export function createPulumiEngine(options: EngineOptions): Engine {
  const { files, stack: name, backend } = options;
  const redact = redactor(options.secrets);
  const redacted = redactable(options.secrets);
  const redactWords = (text: string): string => redactText(text, redacted);
  const env = environment(files, backend);
  const folder = localFolder(backend);
  const stored = folder === null ? null : join(folder, ".pulumi", "stacks", PROJECT, `${name}.json`);

  const failure = (thrown: unknown, command: string, diagnostics: Diagnostic[] = []): EngineFailure =>
    describeEngineFailure(thrown, { stack: name, command, diagnostics, redact: redactWords });

  /** The failure as an error, with the path of the log that has all of it. `said`: by the engine, before it failed. */
  async function logged(thrown: unknown, doing: string, { error }: EngineFailure, said: readonly string[] = []) {
    if (!(error instanceof InfraError) || error === thrown) return error;
    const text = thrown instanceof PulumiFailure ? `${thrown.stderr}\n${thrown.stdout}` : String(thrown);
    const log = await options.log.write(doing, `${doing}: ${error.message}`, redactWords([...said, text].join("\n")));
    const { code, message, details } = error;
    return log === null ? error : new InfraError(code, message, { ...details, log });
  }

  async function command(args: readonly string[], doing: string, input?: string): Promise<string> {
    try {
      const run = { cwd: files.project, env, ...(input === undefined ? {} : { input }) };
      const cli = await options.cli();
      return (await cli.run([...args, "--stack", name, "--non-interactive"], run)).stdout;
    } catch (error) {
      throw await logged(error, doing, failure(error, doing));
    }
  }

  let selected: Promise<Stack> | null = null;
  /** Selecting takes the engine half a second: once is enough. */
  function open(): Promise<Stack> {
    selected ??= select().catch((error: unknown) => {
      selected = null;
      throw error;
    });
    return selected;
  }

  async function select(url = backend): Promise<Stack> {
    const { LocalWorkspace, Stack: StackClass } = await import("@pulumi/pulumi/automation/index.js");
    const workspace = await LocalWorkspace.create({
      workDir: files.project,
      pulumiCommand: (await options.cli()).automation,
      envVars: { ...env, PULUMI_BACKEND_URL: url },
    });
    return StackClass.select(name, workspace);
  }

  /**
   * Runs one operation of the engine and gathers its events. A CairnError of the program counts as the outcome. `assuming`: on
   * this state, in a backend of its own.
   */
  async function operate<T>(
    doing: string,
    run: RunInput & Partial<Pick<ProgramRun, "program" | "onComponent">> & { readonly assuming?: ExportedState },
    work: (
      stack: Stack,
      hooks: { onEvent: (event: EngineEvent) => void; signal: AbortSignal; color: "never" },
    ) => Promise<T>,
  ): Promise<{ readonly diff: Diff; readonly value: T }> {
    const builder = diffBuilder(redact);
    const diagnostics: Diagnostic[] = [];
    const thrown: unknown[] = [];
    const said: string[] = [];
    const program: PulumiFn = async () => {
      try {
        return await run.program?.();
      } catch (error) {
        thrown.push(error);
        throw error;
      }
    };
    const onEvent = (event: EngineEvent): void => {
      builder.add(event);
      said.push(...saidIn(event, redactWords));
      const planned = event.resourcePreEvent?.metadata;
      if (planned?.op === "create" && planned.type.startsWith("cairn:")) run.onComponent?.(planned.urn);
      const note = noteOf(event, redactWords);
      if (note === null) return;
      if (note.kind !== "message") {
        run.onNote(note);
        return;
      }
      if (note.severity === "error") {
        diagnostics.push({ message: note.message, resource: note.urn === null ? null : parseUrn(note.urn).name });
      }
      // Scripts and stack traces are for the log.
      const { sentence } = reportOf(note.message);
      if (sentence !== "") run.onNote({ ...note, message: sentence });
    };
    let scratch: string | null = null;
    try {
      run.signal.throwIfAborted();
      scratch = run.assuming === undefined ? null : await scratchBackend(name, run.assuming);
      const stack = scratch === null ? await open() : await select(`file://${scratch}`);
      stack.workspace.program = program;
      const value = await work(stack, { onEvent, signal: run.signal, color: "never" });
      return { diff: builder.build(name, options.target), value };
    } catch (error) {
      const cause = thrown[0] ?? error;
      const described = failure(cause, doing, diagnostics);
      if (described.kind === "cancelled" && run.signal.aborted) throw run.signal.reason ?? described.error;
      throw await logged(cause, doing, described, said);
    } finally {
      if (scratch !== null) await rm(scratch, { recursive: true, force: true });
    }
  }

  const choices = ({ targets, replace = [], refresh = false }: Omit<ProgramRun, "program" | keyof RunInput>) => ({
    ...(targets === undefined ? {} : { target: [...targets] }),
    ...(replace.length === 0 ? {} : { replace: [...replace] }),
    ...(refresh ? { refresh } : {}),
  });

  const engine: Engine = {
    stack: name,
    backend,

    async preview(run: PreviewRun) {
      // The engine refuses to ask the target for what is not recorded yet. A preview of everything has asked for the rest.
      const isNew = (await recordedTargets(run, run.assuming)) !== null;
      const chosen = choices(isNew ? { ...run, refresh: false } : run);
      return (await operate("preview", run, (stack, hooks) => stack.preview({ ...hooks, ...chosen }))).diff;
    },

    async up(run: ProgramRun): Promise<Applied> {
      const existing = await recordedTargets(run);
      if (existing !== null && existing.length > 0)
        await engine.refresh({ onNote: run.onNote, signal: run.signal, targets: existing });
      const chosen = choices(existing === null ? run : { ...run, refresh: false });
      const { diff, value } = await operate("up", run, (stack, hooks) => stack.up({ ...hooks, ...chosen }));
      const outputs = Object.entries(value.outputs).map(([key, output]) => [key, output.secret ? null : output.value]);
      return { diff, outputs: Object.fromEntries(outputs) };
    },

    async previewDestroy(run) {
      // Not the API's own previewDestroy: that says on standard error that it misses a summary.
      const options = { excludeProtected: true, previewOnly: true };
      return (await operate("destroy", run, (stack, hooks) => stack.destroy({ ...hooks, ...options }))).diff;
    },

    async destroy(run) {
      // The engine knows both ways to name what goes, and takes one of them alone.
      const which = run.targets === undefined ? { excludeProtected: true } : { target: [...run.targets] };
      return (await operate("destroy", run, (stack, hooks) => stack.destroy({ ...hooks, ...which }))).diff;
    },

    async refresh(run) {
      await operate("refresh", run, (stack, hooks) => stack.refresh({ ...hooks, ...choices(run) }));
    },

    async state(): Promise<ExportedState | null> {
      try {
        if (stored !== null) {
          // The engine's own export would say "unexpected end of JSON input" and take half a second for it.
          if (!existsSync(stored)) return null;
          return readStored(await readFile(stored, "utf8"));
        }
        // Without --show-secrets, which the Automation API's exportStack would add.
        const cli = await options.cli();
        const text = await cli.run(["stack", "export", "--stack", name, "--non-interactive"], {
          cwd: files.project,
          env,
        });
        return exportedState.parse(JSON.parse(text.stdout));
      } catch (error) {
        if (error instanceof SyntaxError || (error instanceof Error && error.name === "ZodError")) {
          throw unreadable(name, error);
        }
        const { kind, error: described } = failure(error, "status");
        if (kind === "stack-not-found") return null;
        throw described;
      }
    },

    async replaceState(state) {
      const file = join(tmpdir(), `cairn-state-${process.pid}-${Date.now()}.json`);
      try {
        await writeFile(file, JSON.stringify(state), { mode: 0o600, flag: "wx" });
        await command(["stack", "import", "--file", file], "unlock");
      } finally {
        await rm(file, { force: true });
      }
    },

    async restoreState(state) {
      if (stored === null) throw notLocal(backend);
      if (existsSync(stored)) await rename(stored, `${stored}.unreadable-${Date.now()}`);
      await mkdir(join(stored, ".."), { recursive: true, mode: 0o700 });
      await writeDurably(stored, toStored(state, `organization/${PROJECT}/${name}`), { mode: 0o600 });
    },

    async locks(): Promise<readonly EngineLock[]> {
      return folder === null ? [] : readEngineLocks(folder, name);
    },

    async removeBrokenLocks() {
      return folder === null ? [] : removeBrokenLocks(folder, name);
    },

    async cancel() {
      await command(["cancel", "--yes"], "unlock").catch(async (error: unknown) => {
        // A state that cannot be read does not keep its lock for that.
        if (folder === null || !(error instanceof InfraError) || error.code !== "INFRA_STATE_UNREADABLE") throw error;
        await rm(locksFolder(folder, name), { recursive: true, force: true });
      });
    },

    async remove() {
      await command(["stack", "rm", "--yes", "--preserve-config"], "destroy");
      await rm(files.stackFile, { force: true });
    },

    async prepare(secrets) {
      try {
        await open();
      } catch (error) {
        const { kind, error: described } = failure(error, "up");
        if (kind !== "stack-not-found") throw described;
        await command(["stack", "init", "--secrets-provider", "passphrase"], "up");
      }
      for (const { key, renewal, make } of secrets) {
        const settings = await stackSettings(files.stackFile);
        const renewAt = renewal === undefined ? undefined : settings[renewal.key];
        const due = renewal !== undefined && !(typeof renewAt === "string" && renewal.today < renewAt);
        if (key in settings && !due) continue;
        const made = await make((other) => command(["config", "get", other], "up"));
        // By standard input: arguments of a process can be read by everybody on the machine.
        await command(["config", "set", key, "--secret"], "up", made.value);
        if (renewal && made.renewAt) await command(["config", "set", renewal.key, made.renewAt], "up");
      }
    },
  };
  return engine;

  /** Those of its targets that are recorded; null where nothing new is among them, so that the engine can ask for all itself. */
  async function recordedTargets(
    { refresh, targets }: ProgramRun,
    assuming?: ExportedState,
  ): Promise<readonly string[] | null> {
    if (refresh !== true || targets === undefined) return null;
    const state = assuming ?? (await engine.state());
    const recorded = new Set(state?.deployment.resources?.map(({ urn }) => urn));
    const existing = targets.filter((urn) => recorded.has(urn));
    return existing.length === targets.length ? null : existing;
  }
}

interface Diagnostic {
  readonly message: string;
  readonly resource: string | null;
}

/** What the engine gets beside the environment of the command. */
function environment(files: InfraFiles, backend: string): Record<string, string> {
  return {
    PULUMI_BACKEND_URL: backend,
    PULUMI_CONFIG_PASSPHRASE_FILE: files.passphrase,
    PULUMI_SKIP_UPDATE_CHECK: "true",
    NO_COLOR: "1",
  };
}

/** The stack's configuration: texts in the clear, secrets as objects. Empty where there is none. */
async function stackSettings(stackFile: string): Promise<Readonly<Record<string, unknown>>> {
  const text = await readFile(stackFile, "utf8").catch(() => "");
  const settings: unknown = text === "" ? null : parse(text);
  if (typeof settings !== "object" || settings === null || !("config" in settings)) return {};
  return typeof settings.config === "object" && settings.config !== null ? { ...settings.config } : {};
}

function unreadable(stack: string, cause: unknown): InfraError {
  return new InfraError("INFRA_STATE_UNREADABLE", `The state of the stack ${stack} cannot be read.`, {
    hint: "Put the newest copy back with `cairn infra unlock --restore-state`.",
    cause,
  });
}

function notLocal(backend: string): InfraError {
  return new InfraError("INFRA_FAILED", `The backend ${backend} keeps the state itself.`, {
    hint: "Use its own versions, or `pulumi stack import --file COPY` with a file of infra/state-copies.",
  });
}
