/**
 * Writes the Pulumi project of a deployment into its folder `infra`: from templates, the same bytes each time. Files that were
 * changed by hand are kept and reported; state, passphrase, release and the stack's settings are never touched.
 */

import { copyFile, lstat, mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { stringify } from "yaml";
import { z } from "zod";
import { urlPassword } from "../runtime/config/secret-values.ts";
import { InfraError } from "../runtime/contracts/errors.ts";
import { codeOf } from "../runtime/contracts/system-errors.ts";
import { hashOf, writeDurably } from "../runtime/files/durable.ts";
import { linkPackages } from "./links.ts";
import { templateDirectory } from "./templates.ts";

const PROJECT_FOLDER = "infra";
/** Records what was rendered last, so that a change by hand is distinguished from an older template. */
const RECORD = ".rendered.json";
const LOCAL_BACKEND = "file://./state";

export interface RenderOptions {
  /** Deployment directory. */
  readonly dir: string;
  /** Named in the README. */
  readonly stack: string;
  /** URL of a Pulumi backend; the folder `state` when absent. */
  readonly backend?: string;
  /** Write over what was changed by hand; the former text is kept beside it as `*.bak`. */
  readonly force?: boolean;
  readonly signal?: AbortSignal;
}

export interface RenderOutcome {
  /** Absolute. */
  readonly directory: string;
  readonly written: readonly string[];
  readonly unchanged: readonly string[];
  /** Changed by hand and left as they are. */
  readonly kept: readonly string[];
}

/** Template to the file that it becomes. */
const FILES = [
  ["Pulumi.yaml", "Pulumi.yaml"],
  ["README.md", "README.md"],
  ["gitignore", ".gitignore"],
  ["index.ts", "index.ts"],
  ["package.json", "package.json"],
  ["tsconfig.json", "tsconfig.json"],
] as const;

const record = z.object({ schema: z.literal(1), files: z.record(z.string(), z.string()) });

/** INFRA_DISK_FULL, INFRA_FAILED where the folder cannot be written. */
export async function renderProject(options: RenderOptions): Promise<RenderOutcome> {
  const directory = join(options.dir, PROJECT_FOLDER);
  const files = await renderedFiles(options);
  try {
    return await place(directory, files, options);
  } catch (cause) {
    const code = codeOf(cause) ?? null;
    if (code === null) throw cause;
    throw new InfraError(
      code === "ENOSPC" ? "INFRA_DISK_FULL" : "INFRA_FAILED",
      `${directory} cannot be written (${code}).`,
      {
        cause,
        hint: "Check the permissions of the directory and the space on its disk.",
      },
    );
  }
}

/** File name to text, sorted by name. Nothing in them depends on the machine or on the time. */
export async function renderedFiles({
  stack,
  backend = LOCAL_BACKEND,
}: Pick<RenderOptions, "stack" | "backend">): Promise<ReadonlyMap<string, string>> {
  const values: Readonly<Record<string, string>> = {
    stack,
    backend: stringify(withoutPassword(backend), { lineWidth: 0 }).trim(),
  };
  const entries = FILES.map(async ([template, file]): Promise<[string, string]> => {
    const text = await readFile(join(templateDirectory(), template), "utf8");
    return [file, text.replace(/\{\{(\w+)\}\}/g, (whole, name: string) => values[name] ?? whole)];
  });
  return new Map(await Promise.all(entries));
}

/** The file is kept in git. By hand, PULUMI_BACKEND_URL may carry what is missing. */
function withoutPassword(backend: string): string {
  const password = urlPassword(backend);
  return password === null ? backend : backend.replace(`:${password}@`, "@");
}

async function place(
  directory: string,
  files: ReadonlyMap<string, string>,
  { force = false, signal }: RenderOptions,
): Promise<RenderOutcome> {
  await mkdir(directory, { recursive: true });
  const before = await readRecord(directory);
  const outcome = { written: [] as string[], unchanged: [] as string[], kept: [] as string[] };
  const hashes: Record<string, string> = {};
  for (const [name, text] of files) {
    signal?.throwIfAborted();
    const path = join(directory, name);
    const there = await readText(path);
    const changed = there !== null && there !== text && hashOf(there) !== before[name];
    const previous = before[name];
    if (there === text) outcome.unchanged.push(name);
    else if (changed && !force) outcome.kept.push(name);
    else {
      if (changed) await copyFile(path, `${path}.bak`);
      await writeDurably(path, text, { mode: 0o644 });
      outcome.written.push(name);
    }
    // A file that was kept keeps its record.
    if (!outcome.kept.includes(name)) hashes[name] = hashOf(text);
    else if (previous !== undefined) hashes[name] = previous;
  }
  const written = `${JSON.stringify({ schema: 1, files: hashes }, null, 2)}\n`;
  if ((await readText(join(directory, RECORD))) !== written)
    await writeDurably(join(directory, RECORD), written, { mode: 0o644 });
  await linkPackages(directory);
  return { directory, ...outcome };
}

/** Without a record that can be read, whatever is there and differs counts as changed by hand. */
async function readRecord(directory: string): Promise<Readonly<Record<string, string>>> {
  const text = await readText(join(directory, RECORD));
  try {
    return text === null ? {} : record.parse(JSON.parse(text)).files;
  } catch {
    return {};
  }
}

/** Null where there is no such file. A link or a folder in its place is never written over. */
async function readText(path: string): Promise<string | null> {
  const stats = await lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null;
    throw error;
  });
  if (stats === null) return null;
  if (!stats.isFile()) {
    throw new InfraError("INFRA_FAILED", `${path} is no regular file.`, {
      hint: "Rename or remove it, and run the command again.",
    });
  }
  return readFile(path, "utf8");
}
