/** What the configuration of a deployment says about its image; without a configuration, an image of the program alone. */

import { registryLogin } from "../../../infra/registry.ts";
import { inspectConfig } from "../../../runtime/config/index.ts";
import { ConfigValidationError } from "../../../runtime/contracts/errors.ts";
import { type Deployment, inspectWithoutSecrets } from "../../service/deployment.ts";
import type { BuildDeployment } from "./build.ts";
import { defaultReference } from "./request.ts";

export interface ConfiguredBuild {
  readonly deployment: BuildDeployment;
  /** The image's name when no flag gives one. */
  reference(version: string): string;
}

/** The password of the registry is looked up only for a push. Errors as `inspectConfig`'s. */
export async function configuredBuild(found: Deployment, push: boolean, signal: AbortSignal): Promise<ConfiguredBuild> {
  if (!found.exists) {
    const deployment = { directory: null, pluginDirs: [], skillDirs: [], registry: null };
    return { deployment, reference: (version) => defaultReference({}, version) };
  }
  const { dir, home } = found;
  const inspection = push ? await inspectConfig({ dir, home, signal }) : await inspectWithoutSecrets(found, signal);
  const config = inspection.loaded?.config;
  if (config === undefined)
    throw inspection.error ?? new ConfigValidationError(`${found.file} is not valid.`, inspection.errors);
  const { image } = config.deployment;
  const registry = push ? registryLogin(image) : null;
  return {
    deployment: { directory: dir, pluginDirs: config.plugin_dirs, skillDirs: config.skill_dirs, registry },
    reference: (version) => defaultReference(image, version),
  };
}
