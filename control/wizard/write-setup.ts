/**
 * Writes what a setup has made, one file after the other, each whole or not at all: .env, infra/, workspace/, .gitignore, and
 * cairn.yaml last. Without a cairn.yaml the rest counts for nothing, and no file that is there is overwritten: so a setup that is
 * killed while it writes is completed by running it again, with the token that is in .env already.
 */

import { mkdir, mkdtemp, readFile, rmdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { addSecrets, CONFIG_FILE, makeOwnHome, SECRETS_FILE } from "../../runtime/config/index.ts";
import { CairnError, ConfigError } from "../../runtime/contracts/errors.ts";
import { systemWords } from "../../runtime/contracts/system-errors.ts";
import { createDurably, exists, keepCopy, writeDurably } from "../../runtime/files/durable.ts";
import { replaceConfiguration, requireUnchanged, requireWritableFile } from "../configuration/replace.ts";
import { alreadyThere } from "./existing.ts";
import type { PlannedFile, SetupPlan } from "./generate.ts";
import { linkProject } from "./infra-project.ts";
import type { PreparedSetup } from "./plan-setup.ts";
import type { FileOutcome, InitOptions, InitResult } from "./setup.ts";

/**
 * CONFIG_UNWRITABLE when the directory cannot be written, RUNTIME_CONFLICT when the configuration was changed meanwhile,
 * CONFIG_EXISTS when another setup was first: the configuration is as it was then.
 */
export async function writeSetup(prepared: PreparedSetup, options: InitOptions): Promise<InitResult> {
  const { plan, result, review, stack } = prepared;
  if (review === null) return { ...result, files: [] };
  const { dir, home, file } = options.directories;
  const files = await translated(dir, async () => {
    await mkdir(dir, { recursive: true, mode: 0o700 });
    await requireChangeable(file, plan);
    const outcomes: FileOutcome[] = [{ path: SECRETS_FILE, action: await writeSecrets(dir, plan) }];
    options.onWritten?.(SECRETS_FILE);
    for (const planned of plan.files) {
      const path = join(dir, planned.path);
      await mkdir(dirname(path), { recursive: true });
      outcomes.push({ path: planned.path, action: await write(path, planned) });
      options.onWritten?.(planned.path);
    }
    return outcomes;
  });
  if (files.some(({ path, action }) => path === CONFIG_FILE && action === "kept")) throw alreadyThere(file);
  makeOwnHome(home, dir);
  if (result.target !== "manual") await linkProject(dir, stack);
  return { ...result, files };
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

/** Before the first file is written, so that a conflict leaves no trace. */
async function requireChangeable(file: string, { files }: SetupPlan): Promise<void> {
  const update = files.find(({ mode }) => mode === "update");
  if (update?.expected === undefined) return;
  await requireWritableFile(file);
  await requireUnchanged(file, update.expected);
}

async function writeSecrets(dir: string, { secrets, secretsHead }: SetupPlan): Promise<FileOutcome["action"]> {
  const existed = await exists(join(dir, SECRETS_FILE));
  const added = await addSecrets(dir, secrets, secretsHead);
  if (!existed) return "created";
  return added.length > 0 ? "extended" : "kept";
}

async function write(path: string, { mode, content, expected = "" }: PlannedFile): Promise<FileOutcome["action"]> {
  if (mode === "update") {
    await replaceConfiguration({ file: path, expected, text: content });
    return "updated";
  }
  if (mode === "lines" && (await exists(path))) return addLines(content, path);
  if (mode === "replace" && (await exists(path))) {
    await keepCopy(path);
    await writeDurably(path, content);
    return "replaced";
  }
  return (await createDurably(path, content)) ? "created" : "kept";
}

async function addLines(wanted: string, path: string): Promise<FileOutcome["action"]> {
  const text = await readFile(path, "utf8");
  const present = new Set(text.split(/\r?\n/).map((line) => line.trim()));
  const missing = wanted.split("\n").filter((line) => line !== "" && !line.startsWith("#") && !present.has(line));
  if (missing.length === 0) return "kept";
  await writeDurably(path, `${text}${text === "" || text.endsWith("\n") ? "" : "\n"}${missing.join("\n")}\n`);
  return "extended";
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
      hint: ["The configuration was not changed.", ...(hint === undefined ? [] : [hint]), elsewhere].join(" "),
    });
  }
}
