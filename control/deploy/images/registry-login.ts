/**
 * Credentials of a registry for the time of one command: in a private directory that Docker takes for its configuration,
 * never in arguments, never in the user's own configuration.
 */

import { mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import type { SecretValues } from "../../../infra/plan/types.ts";
import { dockerAuths } from "../../../infra/registry.ts";

/** Of Docker's configuration, what has to do with credentials. */
interface DockerConfiguration {
  readonly auths?: Readonly<Record<string, unknown>>;
  readonly credsStore?: string;
  readonly credHelpers?: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

/** Runs `work` with the environment that makes Docker use the credentials; the directory ends with it. */
export async function withRegistryLogin<T>(
  registry: SecretValues["registry"],
  work: (environment: Readonly<Record<string, string>>) => Promise<T>,
): Promise<T> {
  if (registry === null) return work({});
  const own = process.env.DOCKER_CONFIG ?? join(homedir(), ".docker");
  const directory = await mkdtemp(join(tmpdir(), "cairn-docker-"));
  try {
    // Contexts, builders and plugins of the command line live there, too.
    for (const name of await readdir(own).catch(() => [])) {
      if (name !== "config.json") await symlink(join(own, name), join(directory, name));
    }
    const configuration = withCredentials(await readConfiguration(join(own, "config.json")), registry);
    await writeFile(join(directory, "config.json"), JSON.stringify(configuration), { mode: 0o600 });
    return await work({ DOCKER_CONFIG: directory });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** The user's configuration with these credentials for their registry, and what it had for all others. */
export function withCredentials(
  configuration: DockerConfiguration,
  registry: NonNullable<SecretValues["registry"]>,
): DockerConfiguration {
  const { credsStore, credHelpers = {}, auths = {}, ...rest } = configuration;
  const own = dockerAuths(registry);
  // credsStore takes precedence over the file for every registry, so it is kept only for those that it has a login of.
  const stored = credsStore === undefined ? [] : Object.keys(auths).map((name) => [name, credsStore] as const);
  const helpers = Object.fromEntries(
    [...stored, ...Object.entries(credHelpers)].filter(
      ([name]) => !Object.hasOwn(own, name) && name !== registry.server,
    ),
  );
  return { ...rest, auths: { ...auths, ...own }, credHelpers: helpers };
}

async function readConfiguration(file: string): Promise<DockerConfiguration> {
  try {
    const parsed: unknown = JSON.parse(await readFile(file, "utf8"));
    // Docker's own file; what is in it but credentials is only passed on.
    return typeof parsed === "object" && parsed !== null ? (parsed as DockerConfiguration) : {};
  } catch {
    return {};
  }
}
