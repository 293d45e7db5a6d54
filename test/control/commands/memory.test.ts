import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createCli } from "../../support/cli.ts";

// Each test runs several processes, which take their time on a busy machine.

describe("memory backup", () => {
  it("writes the archive of the running node, readable by its owner only", async () => {
    const cli = await createCli();
    await cli.node();
    const { code, stdout } = await cli.run(["memory", "backup", "a.backup"]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: "Wrote a.backup, 11 B.\n" });
    expect(await readFile(join(cli.home, "a.backup"), "utf8")).toBe("archive-end");
    expect((await stat(join(cli.home, "a.backup"))).mode & 0o777).toBe(0o600);
  });

  it("starts a node for its time when none runs, and leaves none behind", async () => {
    const cli = await createCli();
    expect((await cli.run(["memory", "backup", "a.backup"])).code).toBe(0);
    expect(await readFile(join(cli.home, "a.backup"), "utf8")).toBe("archive-end");
    expect(JSON.parse((await cli.run(["status", "--json"])).stdout)).toMatchObject({ state: "stopped" });
  });

  it("leaves nothing behind when the connection breaks", async () => {
    const cli = await createCli();
    await cli.node({ standIn: "cut-backup" });
    const { code, stdout } = await cli.run(["memory", "backup", "a.backup", "--json"]);
    expect(code).toBe(1);
    expect(JSON.parse(stdout).error.code).toBe("CHANNEL_CONNECTION_LOST");
    expect((await readdir(cli.home)).filter((name) => name.includes("backup"))).toEqual([]);
  });

  it("replaces a file only with --force", async () => {
    const cli = await createCli();
    await cli.node();
    await writeFile(join(cli.home, "a.backup"), "precious");
    const { code, stderr } = await cli.run(["memory", "backup", "a.backup"]);
    expect(code).toBe(2);
    expect(stderr).toContain("--force");
    expect(await readFile(join(cli.home, "a.backup"), "utf8")).toBe("precious");

    expect((await cli.run(["memory", "backup", "a.backup", "--force"])).code).toBe(0);
    expect(await readFile(join(cli.home, "a.backup"), "utf8")).toBe("archive-end");
  });

  it("goes to standard output for -, and not together with --json", async () => {
    const cli = await createCli();
    await cli.node();
    expect(await cli.run(["memory", "backup", "-"])).toMatchObject({ code: 0, stdout: "archive-end" });
    expect((await cli.run(["memory", "backup", "-", "--json"])).code).toBe(2);
  });
});

describe("scheduled backups", () => {
  it("are listed, with who has them", async () => {
    const cli = await createCli();
    await cli.node();
    const { code, stdout } = await cli.run(["memory", "backups"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^cairn-20300131T020304Z\.backup +stand-in +.* ago +11 B +verified\n/);
    const asked = await cli.run(["memory", "backups", "--json"]);
    expect(JSON.parse(asked.stdout)).toMatchObject({ backups: [{ node: "stand-in" }, {}], unanswered: [] });
  });

  it.each([[""], ["clock-ahead"]])("say when the next one comes, by the node's clock (%s)", async (standIn) => {
    const cli = await createCli();
    await cli.node({ standIn });
    const { stdout } = await cli.run(["memory", "backups"]);
    expect(stdout).toContain("The next one is due in 22 h; one is taken every 1 d.\n");
    const asked = JSON.parse((await cli.run(["memory", "backups", "--json"])).stdout);
    expect(asked).toMatchObject({ next: [{ node: "stand-in", message: expect.stringContaining("due in 22 h") }] });
  });

  it("say that none comes while no node runs", async () => {
    const cli = await createCli();
    const { stdout } = await cli.run(["memory", "backups"]);
    expect(stdout).toContain("Backups are taken while a node runs");
  });

  it("that are not whole fail the command with --verify", async () => {
    const cli = await createCli();
    await cli.node();
    const { code, stdout } = await cli.run(["memory", "backups", "--verify"]);
    expect(code).toBe(1);
    expect(stdout).toMatch(/cairn-20300130T020304Z\.backup .* not whole/);
  });

  it("come to this machine by their names", async () => {
    const cli = await createCli();
    await cli.node();
    const argv = ["memory", "backup", "here.backup", "--from"];
    expect(await cli.run([...argv, "cairn-20300131T020304Z.backup"])).toMatchObject({ code: 0 });
    expect(await readFile(join(cli.home, "here.backup"), "utf8")).toBe("archive-end");
    expect((await cli.run(["memory", "backup", "other.backup", "--from", "cairn-x.backup"])).code).toBe(1);
    expect((await readdir(cli.home)).filter((name) => name.includes("other"))).toEqual([]);
  });
});

describe("memory export and import", () => {
  it("passes lines through", async () => {
    const cli = await createCli();
    await cli.node();
    const { stdout } = await cli.run(["memory", "export"]);
    expect(stdout).toBe('{"role":"user"}\n{"role":"assistant"}\n');
    const imported = await cli.run(["memory", "import", "-", "--json"], { input: stdout });
    expect(JSON.parse(imported.stdout)).toEqual({
      file: "-",
      imported: Buffer.byteLength(stdout),
      skipped: 1,
      ignored: 0,
      unreadable: 0,
    });
  });

  it("names a file that is not there", async () => {
    const cli = await createCli();
    const { code, stderr } = await cli.run(["memory", "import", "missing.jsonl"]);
    expect(code).toBe(2);
    expect(stderr).toContain("There is no file missing.jsonl");
  });
});

describe("memory restore", () => {
  it("sends the archive to a node of its own", async () => {
    const cli = await createCli();
    await writeFile(join(cli.home, "a.backup"), "12345");
    const { code, stdout } = await cli.run(["memory", "restore", "a.backup", "--json"]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      file: "a.backup",
      counts: { bytes: 5 },
      tokens: { left_out: 2, restored: [] },
    });
  });

  it("says how many API tokens it left out, and with --with-tokens what those may do that it restored", async () => {
    const cli = await createCli();
    await writeFile(join(cli.home, "a.backup"), "12345");
    const { stdout } = await cli.run(["memory", "restore", "a.backup"]);
    expect(stdout).toContain("Left out: 2 API tokens. `cairn token create` makes new ones.");
    const asked = await cli.run(["memory", "restore", "a.backup", "--with-tokens"]);
    expect(asked.stdout).toMatch(
      /API tokens, and what they may do:\n {2}hook\S* +capture\n {2}old +revoked\nWhat was forgotten after this archive was made/,
    );
    expect(asked.stdout).not.toContain("\u001b");
    expect(asked.stdout).not.toContain("Left out");
  });

  it("refuses while the node is running", async () => {
    const cli = await createCli();
    await cli.node();
    await writeFile(join(cli.home, "a.backup"), "12345");
    const { code, stderr } = await cli.run(["memory", "restore", "a.backup"]);
    expect(code).toBe(1);
    expect(stderr).toContain("cairn stop");
  });

  it("needs a configuration, and says how to get one", async () => {
    const cli = await createCli({ configured: false });
    await writeFile(join(cli.home, "a.backup"), "12345");
    const { code, stderr } = await cli.run(["memory", "restore", "a.backup"]);
    expect(code).toBe(1);
    expect(stderr).toContain("cairn init");
  });
});

describe("memory search", () => {
  it("passes on what was asked for, and shows where each hit comes from", async () => {
    const cli = await createCli();
    await cli.node();
    const { code, stdout } = await cli.run(["memory", "search", "which port", "--limit", "3", "--window", "last_7d"]);
    expect(code).toBe(0);
    expect(stdout).toBe(
      "main/user 2030-01-31 12:00 score 0.500, m1\n" + '  {"query":"which port","limit":3,"window":"last_7d"}\n',
    );
  });

  it("asks for an answer with --synthesize, and shows what it rests on or why there is none", async () => {
    const cli = await createCli();
    await cli.node();
    const asked = ["memory", "search", "which port", "--synthesize"];
    const { code, stdout } = await cli.run(asked);
    expect(code).toBe(0);
    expect(stdout).toBe(
      "It was asked [1].\n\n[1] main/user 2030-01-31 12:00 score 0.500, m1\n" +
        '  {"query":"which port","synthesize":true}\n',
    );
    expect(JSON.parse((await cli.run([...asked, "--json"])).stdout).answer).toEqual({
      text: "It was asked [1].",
      citations: ["m1"],
    });
    const missing = await cli.run(["memory", "search", "no model", "--synthesize"]);
    expect(missing.stdout).toMatch(/^No answer: the model is unavailable\n\n\[1\] main/);
    const nothing = await cli.run(["memory", "search", "nothing", "--synthesize"]);
    expect(nothing).toMatchObject({ code: 0, stdout: "Nothing was found.\n" });
  });

  it("says that nothing was found", async () => {
    const cli = await createCli();
    await cli.node();
    expect(await cli.run(["memory", "search", "nothing"])).toMatchObject({ code: 0, stdout: "Nothing was found.\n" });
  });

  it("says beside the result that the search went by words alone", async () => {
    const cli = await createCli();
    await cli.node();
    const { code, stdout, stderr } = await cli.run(["memory", "search", "nothing alone"]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: "Nothing was found.\n" });
    expect(stderr).toContain("! Searched by words alone. `cairn logs --grep embed` says why.");
    expect(JSON.parse((await cli.run(["memory", "search", "alone", "--json"])).stdout).notice).toBe(
      "Searched by words alone.",
    );
  });

  it("refuses a window together with dates", async () => {
    const cli = await createCli();
    expect((await cli.run(["memory", "search", "x", "--window", "today", "--since", "2030-01-01"])).code).toBe(2);
  });
});

it("memory stats tells how much there is", async () => {
  const cli = await createCli();
  await cli.node();
  const { stdout } = await cli.run(["memory", "stats"]);
  expect(stdout).toContain("25 %, 3 waiting (words)");
  expect(stdout).toContain("embedded, schema 4, 9.8 MB");
  expect(stdout).toContain("embed: 2 waiting, 1 failed");
});

it("memory stats says that search by meaning is off where there is no embedding model", async () => {
  const cli = await createCli();
  await cli.node({ standIn: "no-vectors" });
  const { stdout } = await cli.run(["memory", "stats"]);
  expect(stdout).toContain("search by meaning is off: no embedding model is configured");
  expect(stdout).not.toContain("%");
});

describe("memory forget", () => {
  it("shows what would go with --dry-run, with control characters spelled out, and forgets nothing", async () => {
    const cli = await createCli();
    await cli.node();
    const { code, stdout } = await cli.run(["memory", "forget", "--matching", "hunter2", "--dry-run"]);
    expect(code).toBe(0);
    expect(stdout).toContain(
      "2 messages of 1 conversation.\nSummaries that cover them, and are made again from what remains: 1.\n",
    );
    expect(stdout).toContain("main/user 2030-01-31 02:03 m0\n    my password\\u001b[31m\n");
    expect(stdout).not.toContain("\u001b");
    expect(stdout).not.toContain("Forgotten");
  });

  it("wants the number without a terminal, and takes no other one", async () => {
    const cli = await createCli();
    await cli.node();
    const argv = ["memory", "forget", "--session", "s"];
    const without = await cli.run(argv);
    expect(without).toMatchObject({ code: 2 });
    expect(without.stderr).toContain("--confirm 2");
    const wrong = await cli.run([...argv, "--confirm", "3"]);
    expect(wrong).toMatchObject({ code: 2 });
    expect(wrong.stderr).toContain("2 messages are selected, not 3: nothing was forgotten.");
    const right = await cli.run([...argv, "--confirm", "2"]);
    expect(right).toMatchObject({ code: 0 });
    expect(right.stdout).toMatch(/^Forgotten \(erasure erasure-1\):\n {2}messages +2\n/);
    expect(right.stdout).toContain("Still there: in backups that were made before");
  });

  it("says that there is nothing", async () => {
    const cli = await createCli();
    await cli.node();
    const { code, stdout } = await cli.run(["memory", "forget", "--user", "nobody"]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: "There is nothing to forget.\n" });
  });

  it.each([
    [[], "Name one thing to forget."],
    [["--user", "a", "--session", "b"], "Name one thing to forget."],
    [["m0"], "m0 is no id."],
    [["--matching", "ab"], "at least 3 characters"],
  ])("refuses %j before it asks a node", async (argv, message) => {
    const cli = await createCli();
    const { code, stderr } = await cli.run(["memory", "forget", ...argv]);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
  });
});
