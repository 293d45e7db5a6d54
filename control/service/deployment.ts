/**
 * Which deployment a command is about, and what it needs of it. Most commands do without the whole configuration: its
 * schema takes longer to load than their work does, so it is loaded only where it is wanted.
 */

import { homedir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { type Directories, resolveDirectories } from "../../runtime/config/directories.ts";
import { mergeEnvironments } from "../../runtime/config/environment.ts";
import type { Inspection } from "../../runtime/config/index.ts";
import { API_TOKEN_VARIABLE, readSecretsFile } from "../../runtime/config/secrets-file.ts";

export type Deployment = Directories;

const DEFAULT_DRAIN_MS = 60_000;

export function findDeployment(flags: { readonly dir?: string | undefined }): Deployment {
  return resolveDirectories({ flags, env: process.env, cwd: process.cwd(), homedir: homedir() });
}

/** `~/.cairn`: home of the default deployment directory. */
export function sharedHome(): string {
  return join(process.env["HOME"] || homedir(), ".cairn");
}

/**
 * The owner's token: from the environment, else from the deployment's `.env`; undefined when there is none yet.
 * CONFIG_SECRET_UNRESOLVED when the password manager does not give it.
 */
export async function readToken(deployment: Pick<Deployment, "dir">): Promise<string | undefined> {
  const token = await writtenToken(deployment);
  return token?.startsWith("op://") ? tokenFor(deployment) : token;
}

/** As it is written: maybe a reference to the password manager. */
export async function writtenToken({ dir }: Pick<Deployment, "dir">): Promise<string | undefined> {
  return mergeEnvironments(await readSecrets(dir), process.env)[API_TOKEN_VARIABLE] || undefined;
}

/** The owner's token, made and written into `.env` when there is none. */
export async function tokenFor({ dir }: Pick<Deployment, "dir">): Promise<string> {
  const { ensureApiToken } = await import("../../runtime/config/index.ts");
  await readSecrets(dir);
  return (await ensureApiToken(dir, process.env)).token;
}

/**
 * The variables of `.env`. What was wrong with the file goes to standard error: reading it has put it right, so that
 * no later command finds it.
 */
async function readSecrets(dir: string): Promise<Readonly<Record<string, string>>> {
  const { values, warnings } = await readSecretsFile(dir);
  for (const { path, message } of warnings) process.stderr.write(`Note: ${path}: ${message}\n`);
  return values;
}

/** The configuration as far as it needs no secrets: the password manager is not asked. Errors as `inspectConfig`'s. */
export async function inspectWithoutSecrets(
  { dir, home }: Pick<Deployment, "dir" | "home">,
  signal?: AbortSignal,
): Promise<Inspection> {
  const { inspectConfig } = await import("../../runtime/config/index.ts");
  const readSecret = async (reference: string): Promise<string> => reference;
  return inspectConfig({ dir, home, readSecret, ...(signal ? { signal } : {}) });
}

/** Milliseconds that active turns get when the node stops; the default when the configuration cannot be read now. */
export async function drainDeadlineMs(deployment: Deployment): Promise<number> {
  const inspection = await inspectWithoutSecrets(deployment).catch(() => null);
  return inspection?.loaded?.config.runtime.drain_deadline ?? DEFAULT_DRAIN_MS;
}
