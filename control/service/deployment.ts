/** Which deployment a command is about, and what it can say of it without loading the whole configuration. */

import { homedir } from "node:os";
import process from "node:process";
import {
  type Directories,
  inspectConfig,
  mergeEnvironments,
  readSecretsFile,
  resolveDirectories,
} from "../../runtime/config/index.ts";

export type Deployment = Directories;

const DEFAULT_DRAIN_MS = 60_000;

export function findDeployment(flags: { readonly dir?: string | undefined }): Deployment {
  return resolveDirectories({ flags, env: process.env, cwd: process.cwd(), homedir: homedir() });
}

/** The owner's token: from the environment, else from the deployment's `.env`; undefined when there is none yet. */
export async function readToken({ dir }: Deployment): Promise<string | undefined> {
  const secrets = await readSecretsFile(dir);
  return mergeEnvironments(secrets.values, process.env)["SERVICE_API_TOKEN"] || undefined;
}

/** Milliseconds that active turns get when the node stops; the default when the configuration cannot be read now. */
export async function drainDeadlineMs({ dir, home }: Deployment): Promise<number> {
  // No secret matters here: the password manager need not be asked.
  const readSecret = async (reference: string) => reference;
  const inspection = await inspectConfig({ dir, home, readSecret }).catch(() => null);
  return inspection?.loaded?.config.runtime.drain_deadline ?? DEFAULT_DRAIN_MS;
}
