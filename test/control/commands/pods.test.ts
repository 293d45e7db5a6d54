/** A group of equal pods on Kubernetes, each with files of its own: played by two nodes of this machine, and a kubectl that leads to them. */

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { expect, it, onTestFinished } from "vitest";
import { type Cli, createCli } from "../../support/cli.ts";
import { temporaryDirectory } from "../../support/deployment.ts";
import { createFakeTools, type FakeTools } from "../../support/fake-tools.ts";
import { archive, playNode } from "../../support/played-memory.ts";
import { wrongWith } from "../../support/result-schema.ts";

const CONFIGURATION = `version: 1
agents: { main: {} }
providers: { offline: {} }
deployment: { name: lab, target: kubernetes, kubernetes: { replicas: 2 }, datahub: { postgres: true } }
`;
const PODS = ["lab-main-0", "lab-main-1"];

async function nodePort(): Promise<number> {
  const cli = await createCli();
  await cli.node();
  const { url } = JSON.parse(await readFile(join(cli.home, "run", "node.json"), "utf8"));
  return Number(new URL(url).port);
}

/** `gone`: pods to which kubectl has no way. */
async function stack(
  gone: readonly string[] = [],
  port = nodePort,
): Promise<{ cli: Cli; tools: FakeTools; env: NodeJS.ProcessEnv }> {
  const cli = await createCli();
  const tools = await createFakeTools();
  onTestFinished(() => tools.remove());
  const items = PODS.map((name) => ({
    metadata: { name, labels: { "cairn.dev/node": "main" } },
    spec: { containers: [{ name: "cairn", image: "cairn:1" }] },
    status: {
      phase: gone.includes(name) ? "Pending" : "Running",
      conditions: [{ type: "Ready", status: gone.includes(name) ? "False" : "True" }],
    },
  }));
  const answers = await Promise.all(
    PODS.map(
      async (pod) =>
        `*port-forward*pod/${pod}*) echo "Forwarding from 127.0.0.1:${await port()} -> 7433"; exec sleep 600 ;;`,
    ),
  );
  await tools.add(
    "kubectl",
    `case "$*" in\n*get*pods*) echo '${JSON.stringify({ items })}' ;;\n${answers.join("\n")}\n*exec*) echo files | gzip ;;\nesac`,
  );
  await writeFile(join(cli.home, "cairn.yaml"), CONFIGURATION);
  const node = { name: "main", workload: "lab-main", place: "cairn", image: "cairn:1", url: null };
  const record = {
    schema: 1,
    stack: "lab",
    target: "kubernetes",
    backend: "file://./state",
    deployed_at: "2030-01-31T12:00:00.000Z",
    version: "0.1.0",
    nodes: [{ ...node, certificate_sha256: null }],
    data: [],
  };
  await mkdir(join(cli.home, "infra", "state"), { recursive: true });
  await writeFile(join(cli.home, "infra", "state", "stack.json"), "{}");
  await writeFile(join(cli.home, "infra", ".passphrase"), "of the stack\n");
  await writeFile(join(cli.home, "infra", "stack.json"), JSON.stringify(record));
  return { cli, tools, env: { PATH: `${tools.directory}:${process.env.PATH}` } };
}

it("scheduled backups are listed from the disk of each pod, and come from the one that is named", async () => {
  const { cli, env } = await stack();
  const { code, stdout, stderr } = await cli.run(["memory", "backups", "--json"], { env });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const listed = JSON.parse(stdout);
  expect(wrongWith("memory-backups", listed)).toBeNull();
  const nodes = listed.backups.map(({ node }: { node: string }) => node);
  expect(nodes.toSorted()).toEqual([...PODS, ...PODS].toSorted());
  const [name] = listed.backups.map((one: { name: string }) => one.name);
  const several = await cli.run(["memory", "backup", "here.backup", "--from", name, "--node", "main"], { env });
  expect(several).toMatchObject({ code: 2, stderr: expect.stringContaining("--node lab-main-0") });
  const from = ["memory", "backup", "here.backup", "--from", name, "--node", "lab-main-1"];
  expect(await cli.run(from, { env })).toMatchObject({ code: 0 });
  expect(await readFile(join(cli.home, "here.backup"), "utf8")).toBe("archive-end");
});

it("a pod to which there is no way is named as one that may have more", async () => {
  const { cli, env } = await stack(["lab-main-0"]);
  const { stdout } = await cli.run(["memory", "backups", "--json"], { env });
  const { backups, unanswered } = JSON.parse(stdout);
  expect(new Set(backups.map(({ node }: { node: string }) => node))).toEqual(new Set(["lab-main-1"]));
  expect(unanswered[0]).toMatchObject({ node: "lab-main-0" });
});

it("each pod is read by name: its log, a command in it, and the files of all in a backup", async () => {
  const { cli, tools, env } = await stack([], () => playNode(archive("one")));
  const asked = async () => (await tools.calls()).at(-1)?.join(" ");
  expect(await cli.run(["exec", "--node", "lab-main-1", "--", "true"], { env })).toMatchObject({ code: 0, stderr: "" });
  expect(await asked()).toContain("exec --stdin pod/lab-main-1 --container=cairn -- true");
  expect(await cli.run(["logs", "--node", "lab-main-1"], { env })).toMatchObject({ code: 0, stderr: "" });
  expect(await asked()).toContain("logs pod/lab-main-1");
  expect(await cli.run(["logs", "--node", "lab-main-2"], { env })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("It has main, lab-main-0, lab-main-1."),
  });
  const around = await temporaryDirectory();
  await writeFile(join(around, "passphrase"), "correct horse battery staple\n", { mode: 0o600 });
  const flags = ["--passphrase-file", join(around, "passphrase")];
  expect(await cli.run(["backup", join(around, "all.tar.age"), ...flags], { env })).toMatchObject({ code: 0 });
  const read = (await tools.calls()).map((call) => call.join(" ")).filter((call) => call.includes(" tar "));
  expect(read.map((call) => /pod\/(\S+)/.exec(call)?.[1])).toEqual(PODS);
});
