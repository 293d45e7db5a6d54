/** Containers, volumes and images of one test: named apart from all others, and gone with it. */

import { randomUUID } from "node:crypto";
import { execa } from "execa";
import { onTestFinished } from "vitest";

/** A name that no other test run uses. */
export function uniqueName(what: string): string {
  return `cairn-test-${what}-${randomUUID().slice(0, 8)}`;
}

/** Standard output of a `docker` command that must work. */
export async function docker(...args: readonly string[]): Promise<string> {
  const { stdout } = await execa("docker", args);
  return stdout;
}

/** The outcome of a `docker` command that may fail. */
export async function dockerOutcome(
  ...args: readonly string[]
): Promise<{ readonly failed: boolean; readonly stdout: string; readonly stderr: string }> {
  const { failed, stdout, stderr } = await execa("docker", args, { reject: false });
  return { failed, stdout, stderr };
}

/** Starts a container in the background; resolves with its id. It ends with the test. */
export async function runContainer(...args: readonly string[]): Promise<string> {
  const id = await docker("create", ...args);
  onTestFinished(async () => void (await dockerOutcome("rm", "--force", "--volumes", id)));
  await docker("start", id);
  return id;
}

/** A volume that ends with the test. */
export async function createVolume(what: string): Promise<string> {
  const name = await docker("volume", "create", uniqueName(what));
  onTestFinished(async () => void (await dockerOutcome("volume", "rm", "--force", name)));
  return name;
}

/** One field of `docker inspect`, by a Go template. */
export async function inspect(id: string, template: string): Promise<string> {
  return docker("inspect", "--format", template, id);
}
