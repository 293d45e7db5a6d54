/** A deployment directory as `infra up` leaves it: a stack of nodes on the docker engine of this machine, or elsewhere. */

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

export interface DeployedShape {
  /** Published port of each node, by its name. */
  readonly ports: Readonly<Record<string, number>>;
  /** `agents` of cairn.yaml, in YAML's flow style; default: one agent `main` that any node may run. */
  readonly agents?: string;
  /** `providers` of cairn.yaml, likewise; default: `offline`. */
  readonly providers?: string;
  /** Whether the nodes have one database; default: true. */
  readonly shared?: boolean;
  /** Before the first `up` there is no record. */
  readonly deployed?: boolean;
  /** Where its nodes are, as the record says it; default: `local`. */
  readonly place?: string;
  /** More lines of cairn.yaml. */
  readonly more?: string;
}

export async function deployedDirectory(dir: string, shape: DeployedShape): Promise<void> {
  const {
    ports,
    agents = "{ main: {} }",
    providers = "{ offline: {} }",
    shared = true,
    deployed = true,
    place = "local",
    more = "",
  } = shape;
  const names = Object.keys(ports);
  const nodes = names.map((name) => `{ name: ${name}, port: ${ports[name]} }`).join(", ");
  await writeFile(
    join(dir, "cairn.yaml"),
    `version: 1
agents: ${agents}
providers: ${providers}
${shared ? "memory: { postgres: { connection_string: '${SERVICE_PG_URL}' } }" : ""}
deployment:
  name: lab
  target: docker
  nodes: [${nodes}]
  datahub: { postgres: ${shared} }
${more}`,
  );
  if (!deployed) return;
  const record = {
    schema: 1,
    stack: "lab",
    target: "docker",
    backend: "file://./state",
    deployed_at: "2030-01-31T12:00:00.000Z",
    version: "0.1.0",
    nodes: names.map((name) => ({
      name,
      workload: `lab-${name}`,
      place,
      image: "cairn:test",
      url: `http://127.0.0.1:${ports[name]}`,
      certificate_sha256: null,
    })),
    data: [],
  };
  await mkdir(join(dir, "infra"), { recursive: true });
  await writeFile(join(dir, "infra", "stack.json"), JSON.stringify(record));
}
