import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { appendFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Cli, createCli, outcomeOf, untilPrinted } from "../../support/cli.ts";
import { entryOf } from "../../support/node-entries.ts";

// Each test runs several processes, which take their time on a busy machine.

const ENTRY = { level: "warn", time: "2030-01-31T12:00:00.000Z", pid: 7, agent: "main", msg: "the turn failed" };

describe("logs of a node by its name, where no stack is deployed", () => {
  it("are those of this machine's node, and for another one of the fleet it is said where they are", async () => {
    const cli = await createCli();
    const yaml = await readFile(join(cli.home, "cairn.yaml"), "utf8");
    await writeFile(join(cli.home, "cairn.yaml"), `${yaml}mesh: { name: box }\n`);
    const attic = entryOf(generateKeyPairSync("ed25519"), { name: "attic", address: "https://attic:7433" });
    await writeFile(join(cli.home, "mesh.json"), JSON.stringify({ version: 1, nodes: [attic] }));
    const own = await cli.run(["logs", "--node", "box"]);
    expect(own).toMatchObject({ code: 0, stderr: expect.stringContaining("There is no log in") });
    const elsewhere = await cli.run(["logs", "--node", "attic"]);
    expect(elsewhere).toMatchObject({ code: 2 });
    expect(elsewhere.stderr).toContain("attic is another node of the fleet (https://attic:7433)");
    expect((await cli.run(["logs", "--node", "shed"])).stderr).toContain("No node shed is known here");
  });
});

describe("logs", () => {
  it("shows entries as text, without colours where there is no terminal", async () => {
    const cli = await withLog(ENTRY);
    const { code, stdout } = await cli.run(["logs"], { env: { TZ: "UTC" } });
    expect(code).toBe(0);
    expect(stdout).toBe('[2030-01-31 12:00:00.000 +0000] WARN: the turn failed {"agent":"main"}\n');
  });

  it("lets no entry steer the terminal", async () => {
    const cli = await withLog({ ...ENTRY, msg: "\u001b[2Jgone", text: "\u0007" });
    const { stdout } = await cli.run(["logs"]);
    expect(stdout).toContain("\\u001b[2Jgone");
    expect(stdout).not.toContain("\u001b");
  });

  it("is one document with --json", async () => {
    const cli = await withLog(ENTRY, "no json");
    const { stdout } = await cli.run(["logs", "--json"]);
    expect(JSON.parse(stdout)).toEqual({ directory: join(cli.home, "logs"), entries: [ENTRY, { raw: "no json" }] });
  });

  it("follows as JSON lines until it is interrupted, exit 130", async () => {
    const cli = await withLog(ENTRY);
    const child = cli.start(["logs", "--follow", "--json", "--lines", "1"]);
    const ended = outcomeOf(child);
    await untilPrinted(child, "the turn failed");
    await appendFile(join(cli.home, "logs", "cairn.1.log"), '{"msg":"next"}\n');
    await untilPrinted(child, '"next"');
    child.kill("SIGINT");
    const { code, stdout, stderr } = await ended;
    expect({ code, stderr }).toEqual({ code: 130, stderr: "" });
    expect(
      stdout
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line)),
    ).toEqual([ENTRY, { msg: "next" }]);
  });

  it("stops following without a word when its reader has gone", async () => {
    const cli = await withLog(ENTRY);
    const child = cli.start(["logs", "--follow"]);
    const ended = once(child, "close");
    await untilPrinted(child, "the turn failed");
    child.stdout?.destroy();
    await appendFile(join(cli.home, "logs", "cairn.1.log"), '{"msg":"next"}\n');
    child.stderr?.resume();
    expect(await ended).toEqual([0, null]);
  });

  it.each([
    [["--since", "yesterday"], "--since"],
    [["--grep", "("], "--grep"],
    [["--level", "loud"], "--level"],
  ])("refuses %j, exit 2", async (argv, named) => {
    const cli = await withLog();
    const { code, stderr } = await cli.run(["logs", ...argv]);
    expect(code).toBe(2);
    expect(stderr).toContain(named);
  });
});

async function withLog(...entries: readonly (object | string)[]): Promise<Cli> {
  const cli = await createCli();
  await mkdir(join(cli.home, "logs"));
  const lines = entries.map((entry) => `${typeof entry === "string" ? entry : JSON.stringify(entry)}\n`);
  await writeFile(join(cli.home, "logs", "cairn.1.log"), lines.join(""));
  return cli;
}
