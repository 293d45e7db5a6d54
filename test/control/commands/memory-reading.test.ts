import { describe, expect, it } from "vitest";
import { type Cli, createCli } from "../../support/cli.ts";
import { MESSAGE_ID, SUMMARY_ID } from "../../support/fake-reading.ts";

async function withNode(): Promise<Cli> {
  const cli = await createCli();
  await cli.node();
  return cli;
}

describe("the lists of sessions", () => {
  it("show those of agents by their names, and say whose they are", async () => {
    const cli = await withNode();
    const { code, stdout } = await cli.run(["sessions", "--agent", "other"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^AGENT +SESSION +USER +CHANNEL +MESSAGES +LAST +ABOUT\n/);
    expect(stdout).toMatch(/\nother +terminal +owner +agent +7 +2026-01-05 10:00 +session, at most/);
    const { stdout: json } = await cli.run(["sessions", "--json"]);
    expect(JSON.parse(json)).toMatchObject({ sessions: [{ session_key: "main:agent:terminal:" }] });
  });

  it("show every conversation of the memory with its id", async () => {
    const cli = await withNode();
    const { stdout } = await cli.run(["memory", "sessions"]);
    expect(stdout).toMatch(/\n01980000-0000-7000-8000-0000000000cc +main +terminal +agent +7 .* conversation, at most/);
  });
});

describe("memory show", () => {
  it("shows a message with where it stands and what follows it", async () => {
    const cli = await withNode();
    const { code, stdout } = await cli.run(["memory", "show", MESSAGE_ID, "--around", "1"]);
    expect(code).toBe(0);
    expect(stdout).toBe(
      "terminal: main on agent conversation 01980000-0000-7000-8000-0000000000cc\n\n" +
        `main/user 2026-01-05 10:00 ${MESSAGE_ID}\n  hello\n\nmain/user 2026-01-05 10:00 after-0\n  later\n`,
    );
  });

  it("shows a summary with the messages that it is made from", async () => {
    const cli = await withNode();
    const { stdout } = await cli.run(["memory", "show", SUMMARY_ID]);
    expect(stdout).toContain(
      `summary (leaf) of 1 messages, 2026-01-05 10:00 to 2026-01-05 10:00 ${SUMMARY_ID}\n  A greeting.`,
    );
    expect(stdout).toContain(`Its messages:\n\nmain/user 2026-01-05 10:00 ${MESSAGE_ID}\n  hello\n`);
  });

  it("refuses what is no id before it asks, and says what the node says of one that is not there", async () => {
    const cli = await withNode();
    const { code, stderr } = await cli.run(["memory", "show", "bees"]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("bees is no id")]);
    const missing = await cli.run(["memory", "show", "ffffffff"]);
    expect([missing.code, missing.stderr]).toEqual([1, expect.stringContaining("There is no such row.")]);
  });
});

describe("memory browse", () => {
  it("shows a page from its oldest message on, and how to go on", async () => {
    const cli = await withNode();
    const { code, stdout } = await cli.run(["memory", "browse"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^main\/user 2030-01-31 12:01 m1\n {2}the first\n\nmain\/user 2030-01-31 12:02 m2\n/);
    expect(stdout).toMatch(/\n\nThere is more: --cursor further\n$/);
  });

  it("asks for what its flags say, and for a session by its name", async () => {
    const cli = await withNode();
    const argv = [
      "memory",
      "browse",
      "--session",
      "terminal",
      "--oldest",
      "--limit",
      "3",
      "--cursor",
      "c",
      "--role",
      "user",
    ];
    const { messages } = JSON.parse((await cli.run([...argv, "--json"])).stdout);
    expect(JSON.parse(messages[0].content)).toEqual({
      session_key: "main:agent:terminal:",
      order: "asc",
      limit: 3,
      cursor: "c",
      role: "user",
    });
    const none = await cli.run(["memory", "browse", "--session", "nowhere"]);
    expect([none.code, none.stderr]).toEqual([2, expect.stringContaining("There is no session nowhere.")]);
  });
});

describe("memory wiki", () => {
  it("lists the pages of the default agent's wiki, and shows one", async () => {
    const cli = await withNode();
    expect((await cli.run(["memory", "wiki"])).stdout).toMatch(
      /^PAGE +STATEMENTS +UPDATED +TITLE\nbees +1 +2026-01-05 +Bees\n$/,
    );
    expect((await cli.run(["memory", "wiki", "bees"])).stdout).toBe("# Bees\n");
    const { code, stderr } = await cli.run(["memory", "wiki", "wasps"]);
    expect([code, stderr]).toEqual([1, expect.stringContaining("There is no such page.")]);
  });
});
