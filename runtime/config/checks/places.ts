/** Where workspaces lie: an agent reaches everything in its own. Reads names of directories, nothing else. */

import { realpath } from "node:fs/promises";
import { dirname, relative, resolve } from "node:path";
import type { Config } from "../config.ts";
import type { Finding } from "../report.ts";

export interface ServiceDirectories {
  /** Deployment directory. */
  readonly dir: string;
  readonly home: string;
}

/** A warning for each workspace that holds the deployment directory or the home, and for one that lies inside another agent's. */
export async function checkWorkspacePlaces(config: Config, places: ServiceDirectories): Promise<Finding[]> {
  const own = Object.entries(config.agents).flatMap(([agent, { workspace }]) =>
    workspace === undefined ? [] : [{ path: ["agents", agent, "workspace"], workspace }],
  );
  const shared = { path: ["runtime", "workspace"], workspace: config.runtime.workspace };
  const used = Object.values(config.agents).some(({ workspace }) => workspace === undefined);
  const [dir, home] = await Promise.all([resolved(places.dir), resolved(places.home)]);
  const workspaces = await Promise.all(
    (used ? [shared, ...own] : own).map(async (one) => ({ ...one, real: await resolved(one.workspace) })),
  );
  return workspaces.flatMap(({ path, workspace, real }): Finding[] => {
    const held = [
      ...(isInside(real, dir) ? ["the deployment directory (cairn.yaml, .env, infra)"] : []),
      ...(isInside(real, home) ? ["the service's home directory"] : []),
    ];
    const around = workspaces.find((other) => other.workspace !== workspace && isInside(other.workspace, workspace));
    return [
      ...(held.length === 0
        ? []
        : [
            {
              path,
              code: "exposed-files" as const,
              message: `the workspace ${workspace} holds ${held.join(" and ")}: agents work beside the service's own files`,
              hint: "use a directory of its own, such as `workspace`",
            },
          ]),
      ...(around === undefined
        ? []
        : [
            {
              path,
              code: "exposed-files" as const,
              message: `it lies inside ${around.path.join(".")}, whose agents can change and replace it`,
            },
          ]),
    ];
  });
}

/** Without links, as far as it is there. */
async function resolved(path: string): Promise<string> {
  const missing: string[] = [];
  for (let at = path; ; at = dirname(at)) {
    const real = await realpath(at).catch(() => null);
    if (real !== null) return resolve(real, ...missing);
    if (dirname(at) === at) return path;
    missing.unshift(relative(dirname(at), at));
  }
}

function isInside(directory: string, path: string): boolean {
  const rest = relative(directory, path);
  return rest === "" || !(rest === ".." || rest.startsWith("../"));
}
