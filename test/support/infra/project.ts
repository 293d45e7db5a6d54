/** A deployment directory for one test of the infrastructure: files in, what `readProject` makes of them out. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { DeploymentPlan } from "../../../infra/plan/types.ts";
import { type Project, type ProjectOptions, readProject } from "../../../infra/project.ts";
import { bareEnvironment, deploymentDirectory } from "../deployment.ts";

export const VERSION = "1.2.3";
export const TOKEN = "cairn_token-for-tests-0123456789";
export const AGENTS = "version: 1\nagents:\n  main: {}\nproviders:\n  offline: {}\n";

export interface ProjectFiles extends Omit<ProjectOptions, "dir"> {
  /** `.env` besides SERVICE_API_TOKEN. */
  readonly variables?: string;
  /** Path below the deployment directory to content. */
  readonly files?: Readonly<Record<string, string | Uint8Array>>;
}

/** Ends with the test. */
export async function projectDirectory(
  yaml: string,
  { variables = "", files = {} }: ProjectFiles = {},
): Promise<string> {
  const dir = await deploymentDirectory({ yaml, env: `SERVICE_API_TOKEN=${TOKEN}\n${variables}` });
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(dir, path)), { recursive: true });
    await writeFile(join(dir, path), content);
  }
  return dir;
}

/** Reads the text as cairn.yaml, with nothing in the environment but what is given. */
export async function projectOf(yaml: string, options: ProjectFiles = {}): Promise<Project> {
  const { variables: _variables, files: _files, env, ...rest } = options;
  const dir = await projectDirectory(yaml, options);
  return readProject({ dir, home: join(dir, "home"), version: VERSION, ...rest, env: bareEnvironment(env) });
}

export async function planOf(yaml: string, options: ProjectFiles = {}): Promise<DeploymentPlan> {
  return (await projectOf(yaml, options)).plan;
}

/** An image as `build` records one. */
export function imageOf(letter: string) {
  return {
    id: `sha256:${letter.repeat(64)}`,
    digest: null,
    reference: `cairn:${VERSION}`,
    version: VERSION,
    revision: null,
  };
}
