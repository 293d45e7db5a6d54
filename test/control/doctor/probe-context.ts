/** The context of one check: a real deployment directory, and whatever the test says of the rest. */

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import type { DeploymentProbe } from "../../../control/doctor/context/deployment-probe.ts";
import { type Machine, thisMachine } from "../../../control/doctor/context/machine.ts";
import { findPaths } from "../../../control/doctor/context/paths.ts";
import { createProbeContext, type ProbeContext } from "../../../control/doctor/context/probe-context.ts";
import type { Health } from "../../../runtime/client/index.ts";
import type { Environment } from "../../../runtime/config/index.ts";
import { EVENTUALLY_MS } from "../../lanes/patience.ts";
import { deploymentDirectory, MINIMAL } from "../../support/deployment.ts";

export const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
export const VERSION = "1.2.3";

export interface ProbeContextSpec {
  readonly yaml?: string | null;
  readonly env?: string;
  readonly mode?: number;
  /** Files beside cairn.yaml, by their path. */
  readonly files?: Readonly<Record<string, string>>;
  readonly variables?: Environment;
  readonly machine?: Partial<Machine>;
  readonly probe?: Partial<DeploymentProbe>;
  readonly root?: string;
  readonly requested?: readonly string[];
  /** False for a user whom nobody has given a home. */
  readonly home?: boolean;
  readonly probeMs?: number;
  /** What is seen of the node and of the database. */
  readonly seen?: Partial<ProbeContext>;
}

export const NO_TOOLS: DeploymentProbe = {
  hasTool: async () => false,
  dockerProblem: async () => null,
  sandboxProblem: async () => null,
  serviceUnit: async () => null,
  stackLocks: async () => [],
};

/** A node of this machine's user may have the usual port. */
const ANY_PORT = `${MINIMAL}runtime:\n  listen: 127.0.0.1:0\n`;

export async function probeContextWith(spec: ProbeContextSpec = {}): Promise<ProbeContext> {
  const { yaml = ANY_PORT, env, mode, files = {}, variables = {}, seen = {}, probeMs = EVENTUALLY_MS } = spec;
  const dir = await deploymentDirectory({
    ...(yaml === null ? {} : { yaml }),
    ...(env === undefined ? {} : { env }),
    ...(mode === undefined ? {} : { mode }),
  });
  for (const [name, text] of Object.entries(files)) {
    await mkdir(join(dir, name, ".."), { recursive: true });
    await writeFile(join(dir, name), text);
  }
  const ended = new AbortController();
  onTestFinished(() => ended.abort());
  const homes = spec.home === false ? {} : { HOME: dir, SERVICE_HOME: join(dir, "home") };
  const processEnv = { ...homes, ...variables };
  const context = createProbeContext({
    paths: findPaths({ dir }, processEnv, dir, () => undefined),
    machine: { ...thisMachine(), load: () => 0, ...spec.machine },
    probe: { ...NO_TOOLS, ...spec.probe },
    processEnv,
    root: spec.root ?? ROOT,
    version: VERSION,
    requested: new Set(spec.requested),
    probeMs,
    signal: ended.signal,
  });
  // The object itself: its own functions then see what the test says, too.
  return Object.assign(context, seen);
}

export function healthWith(parts: Partial<Health> = {}): Health {
  return {
    status: "healthy",
    version: VERSION,
    node: { id: "0".repeat(32), name: "box" },
    uptime_s: 65,
    started_at: "2030-01-31T00:00:00.000Z",
    draining: false,
    agents: { main: { provider: "offline", model: "offline", active_turns: 0, queued: 0 } },
    providers: { offline: { available: true, model: "offline", circuits: [] } },
    channels: { agent: { platform: "agent", state: "up" } },
    memory: { backend: "embedded", reachable: true },
    queues: [],
    mesh: { enabled: false },
    schema_version: 4,
    ...parts,
  };
}
