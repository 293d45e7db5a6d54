/** A deployment directory for tests of `infra`, and the services of the operations over the stub plugins. */

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { defaultServices } from "../../control/deploy/operations/default-services.ts";
import type { OperationInput, Prompts, Services } from "../../control/deploy/operations/services.ts";
import type { InfraEvent } from "../../control/deploy/schemas.ts";
import { resolveDirectories } from "../../runtime/config/index.ts";
import { type StubTarget, stubDriver } from "../fakes/pulumi/stub-driver.ts";

export const TOKEN = "owner-token-that-must-stay-secret-0123456789";
export const IMAGE_ID = `sha256:${"a".repeat(64)}`;
const ROOT = fileURLToPath(new URL("../..", import.meta.url));

export interface ProjectShape {
  readonly stack: string;
  readonly nodes: readonly string[];
  /** Memory limit of each node; a change of it is made in place. */
  readonly memory?: string;
  /** A change of it replaces the containers. */
  readonly timezone?: string;
  readonly postgres?: boolean;
  /** All nodes share it; the stack's name when absent. */
  readonly network?: string;
  /** Published port of each node; the plan's own choice when absent. */
  readonly port?: number;
  /** Whether nodes make their certificates themselves. */
  readonly tls?: boolean;
}

/** Writes, or rewrites, cairn.yaml and .env; the image is recorded as built. */
export function writeProject(dir: string, shape: ProjectShape): void {
  mkdirSync(join(dir, "infra"), { recursive: true });
  const { stack, nodes, memory = "512Mi", timezone = "UTC", postgres = true, port, network, tls = false } = shape;
  const agents = nodes.map((node) => `  agent-${node}: { provider: offline, node: ${node} }`);
  writeFileSync(
    join(dir, "cairn.yaml"),
    [
      "version: 1",
      "runtime:",
      `  default_agent: agent-${nodes[0]}`,
      `  timezone: ${timezone}`,
      ...(tls ? ["  tls: auto"] : []),
      "providers:",
      "  offline: { kind: offline }",
      "agents:",
      ...agents,
      ...(postgres ? ["memory:", "  postgres: { connection_string: '${SERVICE_PG_URL}' }"] : []),
      "deployment:",
      `  name: ${stack}`,
      "  target: docker",
      "  nodes:",
      ...nodes.map(
        (node) => `    - { name: ${node}, memory: ${memory}${port === undefined ? "" : `, port: ${port}`} }`,
      ),
      `  datahub: { postgres: ${postgres} }`,
      ...(network === undefined ? [] : [`  docker: { network: ${network} }`]),
      "",
    ].join("\n"),
  );
  writeFileSync(join(dir, ".env"), `SERVICE_API_TOKEN=${TOKEN}\n`, { mode: 0o600 });
  const built = { id: IMAGE_ID, digest: null, reference: "cairn:test", version: "0.1.0", revision: null };
  writeFileSync(join(dir, "infra", "release.json"), JSON.stringify({ schema: 1, built, nodes: {} }));
}

export interface RunParts {
  readonly dir: string;
  readonly home: string;
  readonly target: StubTarget;
  readonly prompts?: Prompts | null;
  readonly services?: Partial<Services>;
  readonly signal?: AbortSignal;
  readonly killSignal?: AbortSignal;
  readonly backend?: string;
}

/** What the operations are called with, and the events that they tell. */
export function infraRun(parts: RunParts): OperationInput & { readonly events: InfraEvent[] } {
  const { dir, home, target } = parts;
  const deployment = resolveDirectories({ flags: { dir }, env: { SERVICE_HOME: home }, cwd: dir });
  const events: InfraEvent[] = [];
  return {
    dir,
    backend: parts.backend,
    events,
    services: {
      ...defaultServices({ deployment, root: ROOT, prompts: parts.prompts ?? null }),
      createDriver: async ({ plan }) => stubDriver(plan, target),
      ...parts.services,
    },
    onEvent: (event) => events.push(event),
    signal: parts.signal ?? new AbortController().signal,
    killSignal: parts.killSignal ?? new AbortController().signal,
  };
}
