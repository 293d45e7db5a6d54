/** `capture install | uninstall | status`: lets a coding assistant's sessions arrive by themselves, and takes that back. */

import { existsSync } from "node:fs";
import { chmod, lstat, readdir, rm, rmdir } from "node:fs/promises";
import { basename, dirname } from "node:path";
import type { Machine } from "../../runtime/client/hook/find-sessions.ts";
import { capturePaths, readCaptureSettings } from "../../runtime/client/hook/settings.ts";
import type { SpoolStatus } from "../../runtime/client/index.ts";
import { createCaptureClient } from "../../runtime/client/index.ts";
import { ConfigError } from "../../runtime/contracts/errors.ts";
import { writeDurably } from "../../runtime/files/durable.ts";
import { readIfThere, replaceWithBackup } from "./files.ts";
import { HARNESSES, type Harness, type HarnessTarget, harnessTarget } from "./harnesses.ts";
import { hookedEvents, withHooks, withoutHooks } from "./hooks-file.ts";
import { hookCommand, type LauncherPlaces, launcherText, pluginText, SIGNATURE } from "./launcher.ts";

export interface InstallResult {
  readonly harness: Harness;
  /** The harness's file. */
  readonly file: string;
  readonly changed: boolean;
  /** Copy of what was there before; null where nothing was, or nothing was changed. */
  readonly backup: string | null;
  /** Whether the harness has ever run here. */
  readonly found: boolean;
  readonly next: string | null;
}

export interface CapturePlaces extends LauncherPlaces {
  readonly machine: Machine;
  /** For the names of backups: a time. */
  readonly stamp: string;
}

/** Writes the launcher, and the harness's hooks or plugin. Done again it changes nothing. */
export async function installHarness(harness: Harness, places: CapturePlaces): Promise<InstallResult> {
  const target = harnessTarget(harness, places.machine);
  const found = existsSync(target.directory);
  const { launcher } = capturePaths(places.home);
  const former = await readIfThere(target.file);
  const text = await wantedText(target, former, launcher);
  // Nothing is written before it is known that the file can be understood.
  await writeDurably(launcher, await launcherText(places), { mode: 0o700 });
  await chmod(launcher, 0o700);
  const changed = text !== former;
  const backup = changed ? await replaceWithBackup(target.file, text, places.stamp) : null;
  return { harness, file: target.file, changed, backup, found, next: target.next ?? null };
}

/** Removes what `installHarness` wrote, and nothing else: the file as well, where it was made for that and holds nothing else. */
export async function uninstallHarness(harness: Harness, places: CapturePlaces): Promise<InstallResult> {
  const target = harnessTarget(harness, places.machine);
  const former = await readIfThere(target.file);
  const result = { harness, file: target.file, found: existsSync(target.directory), next: null };
  if (former === null) return { ...result, changed: false, backup: null };
  if (target.kind === "plugin") {
    const ours = former.includes(SIGNATURE);
    if (ours) await rm(target.file);
    return { ...result, changed: ours, backup: null };
  }
  const text = withoutHooks(former, isOurs(capturePaths(places.home).launcher));
  const changed = text !== former;
  if (changed && isEmptyObject(text) && !(await hasFormer(target.file))) {
    // It was made for the hooks, and its folder perhaps as well.
    await rm(target.file);
    await rmdir(target.directory).catch(() => undefined);
    return { ...result, changed, backup: null };
  }
  return { ...result, changed, backup: changed ? await replaceWithBackup(target.file, text, places.stamp) : null };
}

function isEmptyObject(text: string): boolean {
  return text.replaceAll(/\s/g, "") === "{}";
}

/** Whether the file is the user's: a link, or one of which a copy was made when the hooks came in. */
async function hasFormer(file: string): Promise<boolean> {
  if ((await lstat(file)).isSymbolicLink()) return true;
  return (await readdir(dirname(file))).some((name) => name.startsWith(`${basename(file)}.before-cairn-`));
}

/**
 * Whether no harness starts the hook any more: then the hook's own files can go. Settings that cannot be read just now
 * may well name it.
 */
export async function isUnused(places: CapturePlaces): Promise<boolean> {
  const states = await Promise.all(HARNESSES.map((harness) => harnessState(harness, places)));
  return states.every(({ installed, problem }) => !installed && problem === null);
}

/** The token and the launcher; what waits in the spool, the cursors and the log stay. */
export async function removeAccess(home: string): Promise<void> {
  const { token, settings, launcher } = capturePaths(home);
  for (const path of [launcher, settings, token]) await rm(path, { force: true });
}

export interface HarnessState {
  readonly harness: Harness;
  readonly installed: boolean;
  readonly file: string;
  readonly found: boolean;
  /** What keeps it from working although it is installed. */
  readonly problem: string | null;
}

export interface CaptureStatus {
  readonly harnesses: readonly HarnessState[];
  /** Null when nothing is installed. */
  readonly node: string | null;
  readonly spool: SpoolStatus;
  readonly log: string;
}

export async function captureStatus(places: CapturePlaces): Promise<CaptureStatus> {
  const paths = capturePaths(places.home);
  const settings = await readCaptureSettings(places.home);
  const harnesses = await Promise.all(HARNESSES.map((harness) => harnessState(harness, places)));
  const spool = createCaptureClient({ baseUrl: settings?.base_url ?? "", token: "", spoolDirectory: paths.spool });
  return {
    harnesses: harnesses.map((state) =>
      state.installed && settings === null
        ? { ...state, problem: "The hook's token or settings are gone: run `cairn capture install` again." }
        : state,
    ),
    node: settings?.base_url ?? null,
    spool: await spool.status(),
    log: paths.log,
  };
}

async function harnessState(harness: Harness, places: CapturePlaces): Promise<HarnessState> {
  const target = harnessTarget(harness, places.machine);
  const { launcher } = capturePaths(places.home);
  const state = { harness, file: target.file, found: existsSync(target.directory) };
  const text = await readIfThere(target.file);
  if (text === null) return { ...state, installed: false, problem: null };
  try {
    const events = target.kind === "plugin" ? [] : hookedEvents(text, isOurs(launcher));
    const installed = target.kind === "plugin" ? text.includes(SIGNATURE) : events.length > 0;
    const missing = target.events.filter(({ event }) => !events.includes(event)).map(({ event }) => event);
    if (!installed) return { ...state, installed, problem: null };
    if (!existsSync(launcher))
      return { ...state, installed, problem: `${launcher} is gone: run \`cairn capture install ${harness}\`.` };
    const problem =
      missing.length === 0 ? null : `No hook for ${missing.join(", ")}: run \`cairn capture install ${harness}\`.`;
    return { ...state, installed, problem };
  } catch (error) {
    return { ...state, installed: false, problem: error instanceof Error ? error.message : String(error) };
  }
}

async function wantedText(target: HarnessTarget, former: string | null, launcher: string): Promise<string> {
  if (target.kind === "plugin") {
    if (former !== null && !former.includes(SIGNATURE)) {
      throw new ConfigError("CONFIG_EXISTS", `${target.file} was not written by Cairn.`, {
        hint: "Rename or remove it first.",
      });
    }
    return pluginText(launcher);
  }
  const command = hookCommand(launcher, target.harness);
  try {
    const hooks = target.events.map((event) => ({ ...event, command }));
    return withHooks(former ?? "", hooks, isOurs(launcher));
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new ConfigError("CONFIG_INVALID", `${target.file}: ${error.message}`, error.details);
  }
}

/** Ours are those that start this home's launcher, whatever the words after it. */
function isOurs(launcher: string): (command: string) => boolean {
  const start = hookCommand(launcher, "");
  return (command) => command.startsWith(start);
}
