/**
 * `service install | uninstall`: hands a node to systemd or launchd. The file that is written names its writer; a file
 * of another writer is never replaced or removed.
 */

import { chown, lstat, mkdir, readFile, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { execa } from "execa";
import { ConfigError, RuntimeError } from "../../runtime/contracts/errors.ts";
import { codeOf } from "../../runtime/contracts/system-errors.ts";
import { writeDurably } from "../../runtime/files/durable.ts";
import { templateDirectory } from "../wizard/templates.ts";
import { launchdPlist } from "./launchd.ts";
import { refuseOfAnother } from "./owner.ts";
import type { ServiceDescription } from "./service.ts";
import { systemdUnit } from "./systemd.ts";
import { SYSTEM_UNITS, userUnits } from "./unit-folders.ts";

export interface Manager {
  readonly kind: "systemd" | "launchd";
  /** Where the file of the service is. */
  readonly file: string;
  readonly content: (templates: string) => Promise<string>;
  /** Commands in order; each has its own deadline. */
  readonly load: readonly (readonly string[])[];
  readonly start: readonly (readonly string[])[];
  readonly unload: readonly (readonly string[])[];
  /** The link that enabling it makes; null where its file alone does. */
  readonly enabled: string | null;
  /** The command that shows its state. */
  readonly inspect: string;
}

export interface Machine {
  readonly platform: NodeJS.Platform;
  readonly uid: number;
  /** Home directory of the user. */
  readonly home: string;
  /** Root of the file system; tests give another. */
  readonly root?: string;
  /** XDG_CONFIG_HOME. */
  readonly configHome?: string | undefined;
}

export interface ServiceResult {
  readonly manager: Manager["kind"];
  readonly name: string;
  readonly file: string;
  readonly scope: ServiceDescription["scope"];
  readonly changed: boolean;
  readonly started: boolean;
  readonly inspect: string;
}

export type RunCommand = (command: readonly string[], signal: AbortSignal, deadlineMs: number) => Promise<void>;

export const SIGNATURE = "Written by `cairn service install`";
/** Milliseconds of a command of the manager, in addition to the time that the node may take to stop. */
const COMMAND_MS = 60_000;

/** RUNTIME_INVALID_REQUEST on a machine without a service manager that is known. */
export function managerFor(service: Omit<ServiceDescription, "command">, machine: Machine): Manager {
  const { name, scope } = service;
  if (machine.platform === "darwin") return launchd(service as ServiceDescription, machine);
  if (machine.platform !== "linux") {
    throw new RuntimeError("RUNTIME_INVALID_REQUEST", `There is no service manager for ${machine.platform}.`, {
      hint: "Run `cairn start --detach`, or start it with the service manager of your system.",
    });
  }
  const folder =
    scope === "system" ? join(machine.root ?? "/", SYSTEM_UNITS) : userUnits(machine.home, machine.configHome);
  const systemctl = ["systemctl", ...(scope === "user" ? ["--user"] : [])];
  return {
    kind: "systemd",
    file: join(folder, `${name}.service`),
    content: async (templates) =>
      systemdUnit(await readFile(join(templates, "service/cairn.service"), "utf8"), service as ServiceDescription),
    load: [
      [...systemctl, "daemon-reload"],
      [...systemctl, "enable", `${name}.service`],
    ],
    start: [[...systemctl, "restart", `${name}.service`]],
    unload: [[...systemctl, "disable", "--now", `${name}.service`]],
    enabled: join(folder, `${scope === "system" ? "multi-user" : "default"}.target.wants`, `${name}.service`),
    inspect: `${systemctl.join(" ")} status ${name}`,
  };
}

function launchd(service: ServiceDescription, machine: Machine): Manager {
  const { scope } = service;
  const domain = scope === "system" ? "system" : `gui/${machine.uid}`;
  const folder =
    scope === "system"
      ? join(machine.root ?? "/", "Library/LaunchDaemons")
      : join(machine.home, "Library/LaunchAgents");
  const file = join(folder, `${service.name}.plist`);
  return {
    kind: "launchd",
    file,
    content: async (templates) => launchdPlist(await readFile(join(templates, "service/cairn.plist"), "utf8"), service),
    load: [],
    start: [["launchctl", "bootstrap", domain, file]],
    unload: [["launchctl", "bootout", `${domain}/${service.name}`]],
    enabled: null,
    inspect: `launchctl print ${domain}/${service.name}`,
  };
}

/** RUNTIME_CONFLICT for a file of another writer or a service of another deployment directory; CONFIG_UNWRITABLE; RUNTIME_START_FAILED with the manager's own words. What was done before a failure is undone. */
export async function installService(
  service: ServiceDescription,
  machine: Machine,
  options: { readonly start: boolean; readonly signal: AbortSignal; readonly run?: RunCommand },
): Promise<ServiceResult> {
  const manager = managerFor(service, machine);
  const run = options.run ?? runManager;
  const content = await manager.content(templateDirectory());
  const existing = await readOwn(manager.file);
  await refuseOfAnother(existing, service, service.dir);
  const changed = existing !== content;
  const deadlineMs = Math.max(deadlineOf(existing), deadlineOf(content));
  try {
    if (changed) {
      if (existing !== null && manager.kind === "launchd")
        await forgiving(run, manager.unload, options.signal, deadlineOf(existing));
      await write(manager.file, content, service.scope);
    }
    if (service.scope === "system" && manager.kind === "systemd") await makeWritable(service);
    for (const command of manager.load) await run(command, options.signal, deadlineMs);
    if (options.start) for (const command of manager.start) await run(command, options.signal, deadlineMs);
  } catch (error) {
    if (changed) await undo(manager, { existing, scope: service.scope, run, deadlineMs });
    throw error;
  }
  const { name, scope } = service;
  return {
    manager: manager.kind,
    name,
    file: manager.file,
    scope,
    changed,
    started: options.start,
    inspect: manager.inspect,
  };
}

/**
 * Stops the service and removes its file. `changed` is false when there was none. RUNTIME_CONFLICT where it runs another deployment
 * directory than `dir`; without one the name alone counts.
 */
export async function uninstallService(
  service: Pick<ServiceDescription, "name" | "scope"> & { readonly dir?: string | undefined },
  machine: Machine,
  options: { readonly signal: AbortSignal; readonly run?: RunCommand },
): Promise<ServiceResult> {
  const manager = managerFor(
    { ...service, dir: "/", writable: [], environment: {}, stopSeconds: 0, user: null },
    machine,
  );
  const run = options.run ?? runManager;
  const existing = await readOwn(manager.file);
  if (service.dir !== undefined) await refuseOfAnother(existing, service, service.dir);
  if (existing !== null) {
    let isReached = true;
    for (const command of manager.unload) {
      await run(command, options.signal, deadlineOf(existing)).catch(async (error: unknown) => {
        if (await mayRun(manager, error)) throwNotRemoved(error, manager.file);
        isReached = false;
      });
    }
    await rm(manager.file);
    const [reload] = manager.load;
    if (reload && isReached) await run(reload, options.signal, COMMAND_MS);
  }
  const { name, scope } = service;
  return {
    manager: manager.kind,
    name,
    file: manager.file,
    scope,
    changed: existing !== null,
    started: false,
    inspect: manager.inspect,
  };
}

/** systemd starts no service with a writable directory that is not there. It belongs to whom the deployment directory belongs to. */
async function makeWritable({ dir, writable }: ServiceDescription): Promise<void> {
  const { uid, gid } = await stat(dir);
  for (const path of writable) {
    const first = await mkdir(path, { recursive: true, mode: 0o700 });
    if (first === undefined) continue;
    for (let made = path; made.length >= first.length; made = dirname(made)) await chown(made, uid, gid);
  }
}

/** The installed file, if it is ours; null where there is none. */
export async function readOwn(file: string): Promise<string | null> {
  const text = await readFile(file, "utf8").catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return null;
    throw error;
  });
  if (text === null || text.includes(SIGNATURE)) return text;
  throw new RuntimeError("RUNTIME_CONFLICT", `${file} was not written by Cairn; it was not changed.`, {
    hint: "Choose another name with --name, or remove the file.",
  });
}

/** How long the manager may take over a command: it waits until the node has drained. Pure. */
function deadlineOf(content: string | null): number {
  const seconds = /^TimeoutStopSec=(\d+)$|<key>ExitTimeOut<\/key>\s*<integer>(\d+)<\/integer>/m.exec(content ?? "");
  return COMMAND_MS + Number(seconds?.[1] ?? seconds?.[2] ?? 0) * 1_000;
}

/** What stood before stands again. The failure that led here is the one to report. */
async function undo(
  { file, load, unload }: Manager,
  before: {
    readonly existing: string | null;
    readonly scope: ServiceDescription["scope"];
    readonly run: RunCommand;
    readonly deadlineMs: number;
  },
): Promise<void> {
  const { existing, scope, run, deadlineMs } = before;
  // Not the command's own: it may have been interrupted.
  const { signal } = new AbortController();
  if (existing === null) {
    await forgiving(run, unload, signal, deadlineMs);
    await rm(file, { force: true });
  } else await write(file, existing, scope);
  await forgiving(run, load.slice(0, 1), signal, COMMAND_MS);
}

/** Whether the manager that cannot be asked may have the service: it was enabled, and the manager exists. */
async function mayRun({ enabled }: Manager, error: unknown): Promise<boolean> {
  if (error instanceof ManagerMissing) return false;
  if (!(error instanceof RuntimeError) || enabled === null) return true;
  return (await lstat(enabled).catch(() => null)) !== null;
}

function throwNotRemoved(error: unknown, file: string): never {
  if (!(error instanceof RuntimeError)) throw error;
  throw new RuntimeError(error.code, error.message, {
    cause: error,
    hint: `Nothing was removed. Run it again where the service manager can be reached, or remove ${file} yourself.`,
  });
}

async function write(file: string, content: string, scope: ServiceDescription["scope"]): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true });
    await writeDurably(file, content, { mode: 0o644 });
  } catch (error) {
    const code = codeOf(error) ?? "unknown error";
    throw new ConfigError("CONFIG_UNWRITABLE", `${file} cannot be written (${code}).`, {
      cause: error,
      hint:
        scope === "system"
          ? "A service of the whole machine needs root; --user makes one of your own."
          : "Correct the permissions of its directory.",
    });
  }
}

async function forgiving(
  run: RunCommand,
  commands: Manager["unload"],
  signal: AbortSignal,
  deadlineMs: number,
): Promise<void> {
  for (const command of commands) await run(command, signal, deadlineMs).catch(() => undefined);
}

class ManagerMissing extends RuntimeError {}

const runManager: RunCommand = async ([program = "", ...args], signal, deadlineMs) => {
  const result = await execa(program, args, {
    reject: false,
    all: true,
    timeout: deadlineMs,
    cancelSignal: signal,
    stdin: "ignore",
  });
  signal.throwIfAborted();
  if (!result.failed) return;
  const missing = result.code === "ENOENT";
  const words = missing ? `there is no ${program} on this machine` : (result.all ?? "").trim();
  const Failure = missing ? ManagerMissing : RuntimeError;
  throw new Failure(
    "RUNTIME_START_FAILED",
    `\`${[program, ...args].join(" ")}\` failed: ${words || `exit code ${result.exitCode}`}`,
    {
      hint: missing
        ? "Run `cairn start --detach` instead."
        : "What had been done is undone. Try again where the service manager can be reached, such as in a login session, or use `cairn start --detach`.",
    },
  );
};
