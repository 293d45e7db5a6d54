/** The service as a container starts it: the files of a plan in their places, the environment of a plan, and nothing else. */

import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { renderEnvFile } from "../../infra/plan/env-file.ts";
import { CONTAINER } from "../../infra/plan/types.ts";
import { readProject } from "../../infra/project.ts";
import { type Deployment, MAIN, type NodeProcess, startNode, TOKEN } from "../support/node-process.ts";

const TLS = new URL("../fixtures/tls/", import.meta.url);
const PROBE = join(dirname(MAIN), "health-probe.js");
const YAML = `version: 1
runtime: { tls: { cert: cert.pem, key: key.pem } }
agents:
  main: {}
  writer: { workspace: own }
providers: { offline: {} }
deployment: { target: docker, nodes: [{ name: one }] }
`;

let base: string;
let operator: string;
let volume: string;
let node: Deployment;
let environment: Record<string, string>;

/** Plans anew and puts the files where a container would have them, below a directory of the test. */
async function place(): Promise<void> {
  const { plan, secrets } = await readProject({
    dir: operator,
    home: join(base, "operator-home"),
    env: { HOME: base },
  });
  const [planned] = plan.nodes;
  if (planned === undefined) throw new Error("the plan has no node");
  await rm(node.dir, { recursive: true, force: true });
  const local = (text: string): string =>
    text.replaceAll(CONTAINER.configuration, node.dir).replaceAll(CONTAINER.workspaces, volume);
  for (const { path, content } of planned.files) {
    await mkdir(dirname(local(path)), { recursive: true });
    await writeFile(local(path), path.endsWith("cairn.yaml") ? local(content) : content);
  }
  const variables = Object.fromEntries(planned.secretVariables.map((name) => [name, secrets.variables[name] ?? ""]));
  await writeFile(join(node.dir, ".env"), renderEnvFile(variables), { mode: 0o400 });
  environment = {
    ...Object.fromEntries(Object.entries(planned.environment).map(([name, value]) => [name, local(value)])),
    SERVICE_HOME: node.home,
    SERVICE_LISTEN: "127.0.0.1:0",
  };
}

async function stop(process: NodeProcess): Promise<void> {
  process.signal("SIGTERM");
  expect(await process.exited).toBe(0);
}

const probe = () =>
  execa(process.execPath, [PROBE], { env: { SERVICE_HOME: node.home }, extendEnv: false, reject: false });
const inVolume = (path: string) => readFile(join(volume, path), "utf8").catch(() => null);

describe("a node in a container", () => {
  beforeAll(async () => {
    base = await mkdtemp(join(tmpdir(), "cairn-container-"));
    operator = join(base, "operator");
    volume = join(base, "volume");
    node = {
      dir: join(base, "etc"),
      home: join(base, "home"),
      workspace: join(volume, "workspace"),
      remove: async () => {},
    };
    for (const folder of ["workspace/notes", "own"]) await mkdir(join(operator, folder), { recursive: true });
    await writeFile(join(operator, "cairn.yaml"), YAML);
    await writeFile(join(operator, ".env"), `SERVICE_API_TOKEN=${TOKEN}\n`, { mode: 0o600 });
    for (const name of ["cert", "key"]) {
      await writeFile(join(operator, `${name}.pem`), await readFile(new URL(`localhost-${name}.pem`, TLS)));
    }
    await writeFile(join(operator, "workspace", "AGENTS.md"), "agents, one");
    await writeFile(join(operator, "workspace", "notes", "day.md"), "day, one");
    await writeFile(join(operator, "own", "SOUL.md"), "soul, one");
    await place();
  });
  afterAll(() => rm(base, { recursive: true, force: true }));

  it("starts with TLS from its secrets, finds its workspaces, and says when it is ready", async () => {
    expect((await probe()).exitCode).toBe(1);
    const running = await startNode(node, { env: environment });
    expect(running.url).toMatch(/^https:/);
    expect(await probe()).toMatchObject({ exitCode: 0, stderr: "" });
    expect(await inVolume("workspace/AGENTS.md")).toBe("agents, one");
    expect(await inVolume("agents/writer/SOUL.md")).toBe("soul, one");
    await stop(running);
    expect((await probe()).exitCode).toBe(1);
    expect(await readFile(join(node.dir, ".env"), "utf8")).toContain("BEGIN PRIVATE KEY");
  });

  it("takes the operator's changes and keeps the agents' own at the next start", async () => {
    await writeFile(join(volume, "workspace", "notes", "day.md"), "day, as the agent remembers it");
    await writeFile(join(operator, "workspace", "AGENTS.md"), "agents, two");
    await writeFile(join(operator, "workspace", "notes", "day.md"), "day, two");
    await place();
    const running = await startNode(node, { env: environment });
    expect(await inVolume("workspace/AGENTS.md")).toBe("agents, two");
    expect(await inVolume("workspace/notes/day.md")).toBe("day, as the agent remembers it");
    await stop(running);
    expect(running.output()).toContain("workspace/notes/day.md");
    expect(running.output()).not.toContain("BEGIN PRIVATE KEY");
  });
});
