/** The built command line over a deployment of a test: what is installed is what is tested. */

import { execFile } from "node:child_process";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { ROOT } from "../../scripts/lib/paths.js";
import type { Deployment } from "./node-process.ts";

export const CAIRN = join(ROOT, "bin", "cairn.js");

/** A home of its own, and nothing of this machine but the way to its programs and, in a test run, to what was compiled before. */
export function environmentOf({ dir, home }: Pick<Deployment, "dir" | "home">): Record<string, string> {
  const { PATH = "", NODE_COMPILE_CACHE: compiled } = process.env;
  return { PATH, HOME: dir, SERVICE_HOME: home, ...(compiled === undefined ? {} : { NODE_COMPILE_CACHE: compiled }) };
}

/** What the command prints; rejects, with the exit `code`, when it fails. */
export async function printed(deployment: Deployment, ...args: string[]): Promise<string> {
  const argv = [CAIRN, ...args, "--dir", deployment.dir];
  const { stdout } = await promisify(execFile)(process.execPath, argv, { env: environmentOf(deployment) });
  return stdout;
}

/** The command's result. */
export async function cairn<T = unknown>(deployment: Deployment, ...args: string[]): Promise<T> {
  return JSON.parse(await printed(deployment, ...args, "--json")) as T;
}
