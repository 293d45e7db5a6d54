/** A deployment directory for one test: files in, what the loader says of it out. */
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { type Environment, type Inspection, inspectConfig, type LoadOptions } from "../../runtime/config/index.ts";

/** Ends with the test. */
export async function temporaryDirectory(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "cairn-test-"));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

export interface DeploymentFiles {
  readonly yaml?: string;
  readonly env?: string;
  /** Mode of .env; default 0600. */
  readonly mode?: number;
}

export async function deploymentDirectory(files: DeploymentFiles): Promise<string> {
  const dir = join(await temporaryDirectory(), "deployment");
  await mkdir(dir);
  if (files.yaml !== undefined) await writeFile(join(dir, "cairn.yaml"), files.yaml);
  if (files.env !== undefined) {
    await writeFile(join(dir, ".env"), files.env);
    await chmod(join(dir, ".env"), files.mode ?? 0o600);
  }
  return dir;
}

/** The smallest configuration that is valid. */
export const MINIMAL = "version: 1\nagents:\n  main: {}\nproviders:\n  offline: {}\n";

export interface InspectOptions extends Omit<LoadOptions, "dir"> {
  readonly files?: Omit<DeploymentFiles, "yaml">;
}

/** Inspects the text as cairn.yaml, with nothing in the environment but what is given. */
export async function inspectText(yaml: string, options: InspectOptions = {}): Promise<Inspection> {
  const { files, env, ...rest } = options;
  const dir = await deploymentDirectory({ ...files, yaml });
  return inspectConfig({
    dir,
    home: join(dir, "home"),
    hostname: "box.example.org",
    ...rest,
    env: bareEnvironment(env),
  });
}

export function bareEnvironment(env: Environment = {}): Environment {
  return { HOME: "/home/somebody", ...env };
}
