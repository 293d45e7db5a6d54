import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createAuditFile } from "../../../runtime/plugins/hooks/safety/index.ts";
import { createCli } from "../../support/cli.ts";
import { quietLogger } from "../../support/quiet-logger.ts";

// Each test runs several processes, which take their time on a busy machine.

async function withAudit(entries: readonly object[]) {
  const cli = await createCli();
  const directory = join(cli.home, "logs", "audit");
  await mkdir(directory, { recursive: true });
  const clock = { now: () => new Date("2030-01-31T12:00:00Z"), monotonic: () => 0 };
  const file = createAuditFile({ directory, clock, logger: quietLogger });
  for (const entry of entries) await file.append({ ...entry });
  return { cli, path: join(directory, "2030-01-31.jsonl") };
}

const CALL = { event: "call", agent: "main", user: "ada", tool: "shell", arguments: { command: "ls" } };
const REFUSED = { event: "refused", agent: "main", tool: "shell", code: "TOOL_REFUSED", reason: "\u001b[2JNo." };
const TOKEN = { event: "token.created", outcome: "done", by: "owner", address: "127.0.0.1", details: { name: "ci" } };

describe("audit show", () => {
  it("shows who did what, and lets no entry steer the terminal", async () => {
    const { cli } = await withAudit([CALL, REFUSED, TOKEN]);
    const { code, stdout } = await cli.run(["audit", "show"]);
    expect(code).toBe(0);
    expect(stdout.trimEnd().split("\n")).toEqual([
      '2030-01-31T12:00:00.000Z  call  main ada  shell {"command":"ls"}',
      "2030-01-31T12:00:00.000Z  refused  main  shell  TOOL_REFUSED  \\u001b[2JNo.",
      '2030-01-31T12:00:00.000Z  token.created  owner 127.0.0.1  done  {"name":"ci"}',
    ]);
  });

  it("shows the newest of those that are asked for, whole with --json", async () => {
    const { cli } = await withAudit([CALL, REFUSED, TOKEN, { ...CALL, tool: "file_read" }]);
    const shown = async (...args: string[]) => JSON.parse((await cli.run(["audit", "show", "--json", ...args])).stdout);
    expect((await shown("--agent", "main", "-n", "2")).entries).toMatchObject([REFUSED, { tool: "file_read" }]);
    expect((await shown("--event", "refused", "--event", "token.created")).entries).toMatchObject([REFUSED, TOKEN]);
    expect((await shown("--grep", "file_R")).entries).toHaveLength(1);
    expect((await shown("--since", "2030-02-01")).entries).toEqual([]);
  });
});

describe("audit verify", () => {
  it("gives the last hash, which it finds again, and exits with 1 where a line was changed", async () => {
    const { cli, path } = await withAudit([CALL, TOKEN]);
    const first = await cli.run(["audit", "verify", "--json"]);
    const { head } = JSON.parse(first.stdout);
    expect(first.code).toBe(0);
    expect((await cli.run(["audit", "verify", "--includes", head])).stdout).toContain("Unchanged: 2 lines in 1 file");
    await writeFile(path, (await readFile(path, "utf8")).replace('"ls"', '"ps"'));
    const changed = await cli.run(["audit", "verify"]);
    expect(changed.code).toBe(1);
    expect(changed.stdout).toContain("2030-01-31.jsonl, line 1: was changed");
    expect((await cli.run(["audit", "verify", "--includes", "abc"])).code).toBe(2);
  });

  it("says where there is no log yet", async () => {
    const cli = await createCli();
    expect(await cli.run(["audit", "verify"])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("no audit log"),
    });
  });
});
