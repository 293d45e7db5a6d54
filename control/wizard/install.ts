/**
 * Puts all files of a setup into a directory, or none. They are written into a staging directory, which is then renamed:
 * that rename is the decision. What is decided is carried out file by file, and by the next setup if this one is killed
 * in between. Existing files are never overwritten; cairn.yaml comes last, so that it is there only when all is. Of two
 * setups at the same moment each places what the other has not; the one that places cairn.yaml wins.
 */

import { randomUUID } from "node:crypto";
import { lstat, mkdir, mkdtemp, readdir, readFile, realpath, rename, rm, rmdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { addSecrets, SECRETS_FILE } from "../../runtime/config/index.ts";
import { CairnError, ConfigError } from "../../runtime/contracts/errors.ts";
import { codeOf, systemWords } from "../../runtime/contracts/system-errors.ts";
import {
  exists,
  giveName,
  hashOf,
  keepCopy,
  syncDirectory,
  writeDurably,
  writeNew,
} from "../../runtime/files/durable.ts";
import { isAlive } from "../service/processes.ts";
import { type DecidedPlan, decidedPlan } from "./decided-plan.ts";
import type { SetupPlan } from "./generate.ts";

export interface FileOutcome {
  /** Relative to the deployment directory. */
  readonly path: string;
  readonly action: "created" | "kept" | "extended" | "replaced" | "updated";
}

/** Steps of a setup; tests end the process at each. */
export type InstallStep = "staged" | "decided" | "placed" | "finished";

export interface InstallOptions {
  /** Checks the staged files before they are used: it rejects when they must not be. */
  readonly check?: (stagedDirectory: string) => Promise<void>;
  readonly onStep?: (step: InstallStep, path?: string) => void;
}

/** `.cairn-init-<pid>-<start of that process>-<id>.<state>`, in the directory itself: renames must stay on one file system. */
const WORK_DIRECTORY = /^\.cairn-init-(\d+)-(\d+)-[0-9a-f-]+\.(staged|decided)$/;
const PLAN_FILE = "plan.json";
const FILES = "files";
const MODE_BITS = 0o7777;

type DecidedFile = DecidedPlan["files"][number];

/** CONFIG_UNWRITABLE when the directory cannot be written; nothing of the setup is there then. */
export async function install(dir: string, plan: SetupPlan, options: InstallOptions = {}): Promise<FileOutcome[]> {
  return translated(dir, async () => {
    await mkdir(dir, { recursive: true, mode: 0o700 });
    const staged = workDirectory(dir, "staged");
    const decided = workDirectory(dir, "decided");
    try {
      await stage(staged, plan);
      await options.check?.(join(staged, FILES));
      options.onStep?.("staged");
      await rename(staged, decided);
    } catch (error) {
      await rm(staged, { recursive: true, force: true });
      throw error;
    }
    await syncDirectory(dir);
    options.onStep?.("decided");
    return carryOut(dir, decided, options.onStep);
  });
}

/** Finishes setups that were decided and then interrupted, and removes what undecided ones have left. True if it did finish one. */
export async function recoverInstall(dir: string): Promise<boolean> {
  return translated(dir, async () => {
    if (!(await exists(dir))) return false;
    let finished = false;
    for (const name of await readdir(dir)) {
      const [, pid, started, state] = WORK_DIRECTORY.exec(name) ?? [];
      if (state === undefined || isWriting(Number(pid), Number(started))) continue;
      if (state === "staged") await rm(join(dir, name), { recursive: true, force: true });
      else finished = (await takeOver(dir, join(dir, name))) || finished;
    }
    return finished;
  });
}

/** Makes the abandoned directory its own first: of several processes that see it, one carries it out. */
async function takeOver(dir: string, abandoned: string): Promise<boolean> {
  const own = workDirectory(dir, "decided");
  try {
    await rename(abandoned, own);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return false;
    throw error;
  }
  await carryOut(dir, own);
  return true;
}

function workDirectory(dir: string, state: "staged" | "decided"): string {
  return join(dir, `.cairn-init-${process.pid}-${processStart()}-${randomUUID()}.${state}`);
}

async function stage(staging: string, plan: SetupPlan): Promise<void> {
  await mkdir(staging, { mode: 0o700 });
  const directories = new Set([staging]);
  for (const { path, content } of plan.files) {
    const target = join(staging, FILES, path);
    await mkdir(dirname(target), { recursive: true });
    directories.add(dirname(target));
    await writeNew(target, content, 0o644);
  }
  const decided: DecidedPlan = {
    files: plan.files.map(({ path, mode, expected }) => ({
      path,
      mode,
      ...(expected === undefined ? {} : { expected: hashOf(expected) }),
    })),
    secrets: [...plan.secrets],
    secretsHead: plan.secretsHead,
  };
  await writeNew(join(staging, PLAN_FILE), JSON.stringify(decided), 0o600);
  for (const directory of directories) await syncDirectory(directory);
}

/** Each step may have been done before, by the process that was interrupted. */
async function carryOut(dir: string, decided: string, onStep?: InstallOptions["onStep"]): Promise<FileOutcome[]> {
  const plan = decidedPlan.parse(JSON.parse(await readFile(join(decided, PLAN_FILE), "utf8")));
  const outcomes: FileOutcome[] = [{ path: SECRETS_FILE, action: await placeSecrets(dir, plan) }];
  const directories = new Set([dir]);
  for (const file of plan.files) {
    const target = join(dir, file.path);
    await mkdir(dirname(target), { recursive: true });
    directories.add(dirname(target));
    outcomes.push({ path: file.path, action: await place(join(decided, FILES, file.path), target, file) });
    onStep?.("placed", file.path);
  }
  for (const directory of directories) await syncDirectory(directory);
  await rm(decided, { recursive: true, force: true });
  onStep?.("finished");
  return outcomes;
}

async function placeSecrets(dir: string, { secrets, secretsHead }: DecidedPlan): Promise<FileOutcome["action"]> {
  const existed = await exists(join(dir, SECRETS_FILE));
  const added = await addSecrets(dir, secrets, secretsHead);
  if (!existed) return "created";
  return added.length > 0 ? "extended" : "kept";
}

async function place(staged: string, target: string, file: DecidedFile): Promise<FileOutcome["action"]> {
  const { mode } = file;
  if (mode === "update") return update(staged, target, file.expected ?? "");
  if (mode === "lines" && (await exists(target))) return addLines(await readFile(staged, "utf8"), target);
  if (mode === "replace" && (await exists(target))) {
    if (!(await exists(staged))) return "replaced";
    await keepCopy(target);
    await rename(staged, target);
    return "replaced";
  }
  // It was moved there before, where there are no hard links.
  if (!(await exists(staged))) return "created";
  if (await giveName(staged, target)) return "created";
  return (await isSameFile(staged, target)) ? "created" : "kept";
}

/** The file keeps its mode. What was written there meanwhile is kept beside it. */
async function update(staged: string, target: string, expected: string): Promise<FileOutcome["action"]> {
  if (!(await exists(staged))) return "updated";
  if (await exists(target)) {
    // A link stays one, and what it leads to is changed.
    const real = await realpath(target);
    const wanted = await readFile(staged, "utf8");
    const found = await readFile(real, "utf8");
    if (found === wanted) return "updated";
    if (hashOf(found) !== expected) await keepCopy(target);
    await writeDurably(real, wanted, { mode: (await stat(real)).mode & MODE_BITS });
    return "updated";
  }
  await rename(staged, target);
  return "updated";
}

async function addLines(wanted: string, target: string): Promise<FileOutcome["action"]> {
  const text = await readFile(target, "utf8");
  const present = new Set(text.split(/\r?\n/).map((line) => line.trim()));
  const missing = wanted.split("\n").filter((line) => line !== "" && !line.startsWith("#") && !present.has(line));
  if (missing.length === 0) return "kept";
  const { mode } = await stat(target);
  await writeDurably(target, `${text}${text === "" || text.endsWith("\n") ? "" : "\n"}${missing.join("\n")}\n`, {
    mode,
  });
  return "extended";
}

async function isSameFile(a: string, b: string): Promise<boolean> {
  const [first, second] = await Promise.all([lstat(a), lstat(b)]);
  return first.ino === second.ino && first.dev === second.dev;
}

/** A process with our own number that started at another time is a former one: numbers come again, in containers at once. */
function isWriting(pid: number, started: number): boolean {
  return pid === process.pid ? started === processStart() : isAlive(pid);
}

/** Milliseconds since the epoch. */
function processStart(): number {
  return Math.round(performance.timeOrigin);
}

/** CONFIG_UNWRITABLE where nothing could be written there; the directory need not be there yet. */
export async function requireWritable(dir: string): Promise<void> {
  let at = dir;
  while (!(await exists(at).catch(() => false)) && dirname(at) !== at) at = dirname(at);
  await translated(dir, async () => {
    // A trial write: a full disk or a read-only mount cannot be seen from permissions.
    await rmdir(await mkdtemp(join(at, ".cairn-init-probe-")));
  });
}

async function translated<T>(dir: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof CairnError) throw error;
    const { reason, hint } = systemWords(error);
    const elsewhere = "Choose another directory with --dir, or set SERVICE_HOME.";
    throw new ConfigError("CONFIG_UNWRITABLE", `The setup could not be written to ${dir} (${reason}).`, {
      cause: error,
      hint: ["Nothing was changed.", ...(hint === undefined ? [] : [hint]), elsewhere].join(" "),
    });
  }
}
