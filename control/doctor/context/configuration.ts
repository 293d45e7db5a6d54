/**
 * Reads cairn.yaml as far as it is readable: missing, no YAML, of a newer version, not valid, valid. The password manager is
 * not asked (it may ask the user back): its references stay what they are.
 */

import { hostname } from "node:os";
import type { Config } from "../../../runtime/config/config.ts";
import type { Environment } from "../../../runtime/config/references.ts";
import type { ConfigIssue } from "../../../runtime/config/report.ts";
import type { TreeMap } from "../../../runtime/config/tree.ts";
import { ConfigValidationError } from "../../../runtime/contracts/errors.ts";
import type { FoundPlugin } from "../../../runtime/files/plugin-package.ts";
import type { DeploymentPaths } from "./paths.ts";
import { readRegularFile, reasonOf } from "./regular-file.ts";

export type ConfigurationSnapshot =
  | { readonly state: "missing" }
  | { readonly state: "unreadable"; readonly reason: string }
  /** `where` is "line 3, column 5". */
  | { readonly state: "broken"; readonly text: string; readonly where: string; readonly reason: string }
  | { readonly state: "newer"; readonly text: string; readonly version: number; readonly supported: number }
  | (ParsedSource & { readonly state: "invalid" })
  | (ParsedSource & {
      readonly state: "valid";
      readonly config: Config;
      /** What lies in its plugin_dirs. */
      readonly plugins: readonly FoundPlugin[];
    });

/** The content of a file that is at least YAML. */
export interface ParsedSource {
  readonly text: string;
  /** As it is written: no defaults, no references resolved. */
  readonly tree: TreeMap;
  readonly errors: readonly ConfigIssue[];
  readonly warnings: readonly ConfigIssue[];
  readonly secrets: readonly string[];
}

/** Never rejects for what is in the file. */
export async function readConfiguration(paths: DeploymentPaths, env: Environment): Promise<ConfigurationSnapshot> {
  let text: string | null;
  try {
    text = await readRegularFile(paths.file);
  } catch (error) {
    return { state: "unreadable", reason: reasonOf(error) };
  }
  return text === null ? { state: "missing" } : validateText(text, paths, env);
}

/** The same of a text that is not in the file (yet). */
export async function validateText(
  text: string,
  paths: DeploymentPaths,
  env: Environment,
): Promise<ConfigurationSnapshot> {
  // Loading the schema takes half a second: only once there is something to validate.
  const [
    { validateConfig },
    { parseYaml },
    { CONFIG_VERSION },
    { finishConfig },
    { readServiceVariables },
    { pluginFinder },
  ] = await Promise.all([
    import("../../../runtime/config/validate.ts"),
    import("../../../runtime/config/yaml-source.ts"),
    import("../../../runtime/config/schema.ts"),
    import("../../../runtime/config/config.ts"),
    import("../../../runtime/config/environment.ts"),
    import("../../../runtime/config/directories.ts"),
  ]);
  let source: ReturnType<typeof parseYaml>;
  try {
    source = parseYaml(text, paths.file);
  } catch (error) {
    if (!(error instanceof ConfigValidationError)) throw error;
    const { path = "line 1, column 1", message = error.message } = error.details.issues?.[0] ?? {};
    return { state: "broken", text, where: path, reason: message };
  }
  const version = Number(source.tree["version"] ?? 0);
  if (version > CONFIG_VERSION) return { state: "newer", text, version, supported: CONFIG_VERSION };

  const read = async (reference: string): Promise<string> => reference;
  const environment = await readServiceVariables(env, read);
  const { parsed, errors, warnings, secrets, plugins } = await validateConfig({
    source,
    file: paths.file,
    environment,
    read,
    hostname: hostname(),
    deployment: false,
    findPlugins: pluginFinder(paths.dir, paths.userHome),
  });
  const validated = { text, tree: source.tree, errors, warnings, secrets };
  if (parsed === null) return { state: "invalid", ...validated };
  // Where there is no home, the paths in it are of no use, and every check that uses one requires the home first.
  const config = finishConfig(parsed, { dir: paths.dir, home: paths.home ?? paths.dir, userHome: paths.userHome });
  return { state: "valid", ...validated, config, plugins };
}
