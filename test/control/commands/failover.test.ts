import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { type Cli, createCli } from "../../support/cli.ts";
import { type DeployedShape, deployedDirectory } from "../../support/deployed-directory.ts";
import { closedPort } from "../../support/ports.ts";

/** A stack of which the first node is down and the second one works. */
async function stack(shape: Omit<DeployedShape, "ports"> = {}): Promise<Cli> {
  const cli = await createCli();
  await deployedDirectory(cli.home, { ports: { "nova-1": await closedPort(), "nova-2": await nodePort() }, ...shape });
  return cli;
}

async function nodePort(standIn = ""): Promise<number> {
  const cli = await createCli();
  await cli.node({ standIn });
  const { url } = JSON.parse(await readFile(join(cli.home, "run", "node.json"), "utf8"));
  return Number(new URL(url).port);
}

const SAID = "Node nova-1 does not answer: nova-2 is asked in its place.\n";

it.each([
  [["chat", "hello"]],
  [["status"]],
  [["memory", "stats"]],
  [["memory", "search", "port"]],
  [["memory", "queue-status"]],
  [["mesh", "list"]],
  [["memory", "export", "-"]],
  [["token", "list"]],
  [["token", "revoke", "id-1"]],
  [["usage"]],
  [["schedule", "list"]],
  [["schedule", "run", "morning"]],
])("%j goes to the other node while the first is down, and says so once beside the result", async (argv) => {
  const cli = await stack();
  const { code, stdout, stderr } = await cli.run(argv);
  expect({ code, stderr }).toEqual({ code: 0, stderr: SAID });
  expect(stdout).not.toContain("nova-1 does not answer");
});

it("a backup is written by the node that works", async () => {
  const cli = await stack();
  const { code, stdout, stderr } = await cli.run(["memory", "backup", "lab.backup", "--json"]);
  expect(code).toBe(0);
  expect(stderr).toContain(SAID);
  expect(JSON.parse(stdout)).toMatchObject({ file: "lab.backup" });
  expect(await readFile(join(cli.home, "lab.backup"), "utf8")).toBe("archive-end");
});

it("a scheduled backup comes from the node that has it, and the list says which was not asked", async () => {
  const cli = await stack();
  const { stdout } = await cli.run(["memory", "backups", "--json"]);
  expect(JSON.parse(stdout)).toMatchObject({
    backups: [{ name: "cairn-20300131T020304Z.backup", node: "nova-2" }, { node: "nova-2" }],
    unanswered: [{ node: "nova-1" }, { node: "n1" }],
  });
  const argv = ["memory", "backup", "lab.backup", "--from"];
  expect((await cli.run([...argv, "cairn-20300131T020304Z.backup"])).code).toBe(0);
  expect(await readFile(join(cli.home, "lab.backup"), "utf8")).toBe("archive-end");
  const { code, stderr } = await cli.run([...argv, "cairn-20290131T020304Z.backup", "--force"]);
  expect(code).toBe(1);
  expect(stderr).toMatch(/it may be on nova-1, n1, which cannot be asked/);
});

it("the newest scheduled backup may be on a disk that no node has any more, which --verify does not pass over", async () => {
  const cli = await createCli();
  await deployedDirectory(cli.home, { ports: { n1: await nodePort(), n2: await nodePort() } });
  const { code, stdout } = await cli.run(["memory", "backups"]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/Not asked: n1 \(.*cairn-a\.backup/);
  const other = await cli.run(["memory", "backups", "--node", "n2"]);
  expect(other.stdout).not.toContain("Not asked");
});

it("--verify fails where all backups are whole and a node does not answer", async () => {
  const cli = await createCli();
  const whole = await nodePort("whole-backups");
  await deployedDirectory(cli.home, { ports: { n1: await closedPort(), n2: whole } });
  expect((await cli.run(["memory", "backups"])).code).toBe(0);
  expect((await cli.run(["memory", "backups", "--verify"])).code).toBe(1);
  expect((await cli.run(["memory", "backups", "--verify", "--node", "n2"])).code).toBe(0);
});

it("a name that two nodes have given to their backups is not taken for either", async () => {
  const cli = await createCli();
  await deployedDirectory(cli.home, {
    ports: { "nova-1": await nodePort(), "nova-2": await nodePort() },
    shared: false,
  });
  const argv = ["memory", "backup", "lab.backup", "--from", "cairn-20300131T020304Z.backup"];
  expect(await cli.run(argv)).toMatchObject({ code: 2, stderr: expect.stringMatching(/nova-1, nova-2[\s\S]*--node/) });
  expect((await cli.run([...argv, "--node", "nova-2"])).code).toBe(0);
});

it("the result of --json says which node it is of, and nothing else", async () => {
  const cli = await stack();
  const { stdout, stderr } = await cli.run(["status", "--json"]);
  expect(stderr).toBe(SAID);
  expect(JSON.parse(stdout)).toMatchObject({
    running: true,
    health: { status: "healthy" },
    deployed: { node: "nova-2", nodes: ["nova-1", "nova-2"] },
  });
});

it("--node asks that node and no other, and no hint is to start one here", async () => {
  const cli = await stack();
  expect(await cli.run(["status", "--node", "nova-2"])).toMatchObject({ code: 0, stderr: "" });
  for (const argv of [
    ["chat", "hello"],
    ["memory", "stats"],
    ["token", "list"],
    ["test", "--quick"],
  ]) {
    const { code, stdout, stderr } = await cli.run([...argv, "--node", "nova-1"]);
    expect(code, argv.join(" ")).toBe(1);
    expect(stdout + stderr, argv.join(" ")).toMatch(/No node answers at http:\/\/127\.0\.0\.1:\d+/);
    expect(stdout + stderr, argv.join(" ")).toContain("cairn infra status");
    expect(stdout + stderr, argv.join(" ")).not.toContain("cairn start");
  }
  const { code, stdout } = await cli.run(["status", "--node", "nova-1", "--json"]);
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({ running: false, deployed: { node: "nova-1" } });
});

it("--node with a name that no node has is wrong usage, and so is any where nothing is deployed", async () => {
  const cli = await stack();
  const unknown = await cli.run(["chat", "hello", "--node", "nova-9"]);
  expect(unknown).toMatchObject({ code: 2, stderr: expect.stringContaining("nova-1, nova-2") });
  const { run } = await createCli();
  for (const argv of [["status"], ["memory", "stats"], ["chat", "hello"]]) {
    expect(await run([...argv, "--node", "nova-1"]), argv.join(" ")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("nothing is deployed from this directory"),
    });
  }
});

it("says whose agent has to wait for its own node", async () => {
  const cli = await stack({ agents: "{ main: {}, iris: { node: nova-1 } }" });
  const { stderr } = await cli.run(["chat", "hello", "--agent", "iris"]);
  expect(stderr).toBe(
    "Node nova-1 does not answer: nova-2 is asked in its place; the agent iris answers when nova-1 is back.\n",
  );
});

it("asks no other node where each has a memory of its own, and names the way to it", async () => {
  const cli = await stack({ shared: false });
  const { code, stderr } = await cli.run(["memory", "stats"]);
  expect(code).toBe(1);
  expect(stderr).toMatch(/No node answers at .*\n.*`--node NAME` asks another one \(nova-1, nova-2\)/);
  expect(await cli.run(["memory", "stats", "--node", "nova-2"])).toMatchObject({ code: 0, stderr: "" });
});

it("names every node where none answers", async () => {
  const cli = await createCli();
  await deployedDirectory(cli.home, { ports: { "nova-1": await closedPort(), "nova-2": await closedPort() } });
  const { code, stdout } = await cli.run(["memory", "stats", "--json"]);
  expect(code).toBe(1);
  expect(JSON.parse(stdout).error).toMatchObject({
    code: "RUNTIME_NOT_RUNNING",
    message: expect.stringMatching(/^No node of the stack lab answers: nova-1 \(.*\), nova-2 \(.*\)\.$/),
    hint: expect.stringContaining("`cairn infra status`"),
  });
  const status = await cli.run(["status"]);
  expect(status.code).toBe(1);
  expect(status.stdout).toContain("not answering: No node of the stack lab answers");
});

it("an edit of the configuration counts from the next `infra up` on, and no restart is advised", async () => {
  const cli = await stack();
  const { code, stdout, stderr } = await cli.run(["agent", "add", "iris", "--provider", "offline"]);
  expect(code).toBe(0);
  expect(stdout).toContain("It counts from the next `cairn infra up` on.");
  expect(stdout + stderr).not.toContain("cairn restart");
});

it("a node whose configuration no longer names it is not asked", async () => {
  const cli = await stack();
  const path = join(cli.home, "cairn.yaml");
  await writeFile(path, (await readFile(path, "utf8")).replace(/\{ name: nova-1, port: \d+ \}, /, ""));
  expect(await cli.run(["status"])).toMatchObject({ code: 0, stderr: "" });
});
