/** From a deployment to the service that runs it. */

import { stat } from "node:fs/promises";
import { userInfo } from "node:os";
import { resolve } from "node:path";
import process from "node:process";
import type { Config } from "../../runtime/config/index.ts";
import { loadedConfig } from "../configuration/current.ts";
import { refuseDeployed } from "../service/deployed-node.ts";
import type { Deployment } from "../service/deployment.ts";
import { runtimeArgs } from "../service/node-process.ts";
import { lastingNode } from "./lasting-node.ts";
import { type ServiceDescription, stopSeconds } from "./service.ts";

export interface ServiceRequest {
  readonly name: string;
  readonly scope: ServiceDescription["scope"];
  /** User of a machine's service; the owner of the deployment directory when absent. */
  readonly user?: string | undefined;
}

/** The configuration has to be valid: a service that can only fail is not installed. Errors as `inspectConfig`'s. */
export async function describeService(
  deployment: Deployment,
  request: ServiceRequest,
  signal: AbortSignal,
): Promise<ServiceDescription> {
  await refuseDeployed(deployment);
  const { config } = await loadedConfig(deployment, signal);
  const { dir, home } = deployment;
  const user = request.scope === "user" ? null : (request.user ?? (await ownerOf(dir)));
  return {
    name: request.name,
    command: [await lastingNode({ home }), ...runtimeArgs({ dir, home })],
    dir,
    writable: writableDirectories(dir, home, config),
    environment: { SERVICE_HOME: home, PATH: process.env["PATH"] ?? "/usr/local/bin:/usr/bin:/bin" },
    stopSeconds: stopSeconds(config.runtime.drain_deadline, config.deployment.stop_timeout),
    scope: request.scope,
    user: user === "root" ? null : user,
  };
}

/** The deployment directory, the home directory, the store and every workspace; what lies in another of them goes without saying. */
function writableDirectories(dir: string, home: string, config: Config): readonly string[] {
  const workspaces = Object.values(config.agents).flatMap(({ workspace }) =>
    workspace === undefined ? [] : [workspace],
  );
  const store = config.memory.backend === "embedded" ? [config.memory.embedded.path] : [];
  const all = [...new Set([dir, home, config.runtime.workspace, ...workspaces, ...store].map((path) => resolve(path)))];
  return all.filter((path) => !all.some((other) => other !== path && path.startsWith(`${other}/`))).sort();
}

/** A number where the owner has no name here; systemd takes both. */
async function ownerOf(dir: string): Promise<string> {
  const { uid } = await stat(dir);
  const me = userInfo();
  return me.uid === uid ? me.username : String(uid);
}
