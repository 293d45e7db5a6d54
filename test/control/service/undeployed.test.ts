import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createCli } from "../../support/cli.ts";

/** A deployment of such nodes; none: its stack was removed, and the record tells of data alone. Null: there never was one. */
async function inDirectory(target: string, nodes: readonly object[] | null = []) {
  const cli = await createCli();
  const yaml = `version: 1\nagents:\n  main: {}\nproviders:\n  offline: {}\ndeployment: { name: fleet, target: ${target} }\n`;
  await writeFile(join(cli.home, "cairn.yaml"), yaml);
  if (nodes === null) return cli;
  await mkdir(join(cli.home, "infra"));
  const record = {
    schema: 1,
    stack: "fleet",
    target: "docker",
    backend: "file://./state",
    deployed_at: "2030-01-01T00:00:00.000Z",
    version: "1.0.0",
    nodes,
    data: [],
  };
  await writeFile(join(cli.home, "infra", "stack.json"), JSON.stringify(record));
  return cli;
}

it.each([[["chat", "hello", "--json"]], [["test", "--quick", "--json"]], [["memory", "backup", "a.backup", "--json"]]])(
  "%j says that the stack was removed, and starts nothing here",
  async (argv) => {
    const cli = await inDirectory("docker");
    const { code, stdout } = await cli.run(argv);
    expect(code).toBe(1);
    expect(JSON.parse(stdout).error).toMatchObject({
      code: "RUNTIME_NOT_RUNNING",
      message: "The stack fleet was removed; its data are kept.",
      hint: expect.stringContaining("cairn infra up"),
    });
  },
  60_000,
);

it.each([
  [["chat", "hello", "--json"]],
  [["test", "--quick", "--json"]],
  [["logs", "--json"]],
  [["logs", "--node", "main", "--json"]],
  [["exec", "--json", "--", "true"]],
  [["token", "list", "--json"]],
  [["memory", "search", "hello", "--json"]],
  [["memory", "backups", "--json"]],
  [["memory", "backup", "a.backup", "--node", "main", "--json"]],
  [["status", "--node", "main", "--json"]],
])(
  "%j says that nothing is deployed yet, and starts nothing here",
  async (argv) => {
    const cli = await inDirectory("docker", null);
    const { code, stdout } = await cli.run(argv);
    expect(code).toBe(1);
    expect(JSON.parse(stdout).error).toMatchObject({
      code: "RUNTIME_NOT_RUNNING",
      message: "The stack fleet is not deployed yet.",
      hint: "Deploy it with `cairn infra up`.",
    });
  },
  60_000,
);

it("status says that nothing is deployed yet, and which command does it", async () => {
  const cli = await inDirectory("docker", null);
  expect(await cli.run(["status"])).toMatchObject({
    code: 1,
    stdout: "The stack fleet is not deployed yet. Deploy it with `cairn infra up`.\n",
  });
  expect(JSON.parse((await cli.run(["status", "--json"])).stdout)).toMatchObject({
    running: false,
    error: { code: "RUNTIME_NOT_RUNNING" },
  });
}, 60_000);

it("is of no matter once the node is to run here", async () => {
  const cli = await inDirectory("manual");
  const { stdout } = await cli.run(["memory", "stats", "--json"]);
  expect(stdout).not.toContain("was removed");
});

const NODE = { name: "main", workload: "fleet-main", place: "ssh://one", image: "i", url: null };

it.each([[["start", "--detach", "--json"]], [["restart", "--json"]], [["service", "install", "--user", "--json"]]])(
  "%j starts no second node beside those that are deployed",
  async (argv) => {
    const cli = await inDirectory("docker", [NODE]);
    const { code, stdout } = await cli.run(argv);
    expect(code).toBe(1);
    expect(JSON.parse(stdout).error).toMatchObject({
      code: "RUNTIME_CONFLICT",
      message: expect.stringContaining("docker (main as fleet-main on ssh://one)"),
      hint: expect.stringContaining("cairn infra status"),
    });
  },
  60_000,
);

it("stop says where the deployed nodes are", async () => {
  const cli = await inDirectory("docker", [NODE]);
  expect(await cli.run(["stop"])).toMatchObject({
    code: 0,
    stderr: expect.stringContaining("fleet-main on ssh://one"),
  });
}, 60_000);
