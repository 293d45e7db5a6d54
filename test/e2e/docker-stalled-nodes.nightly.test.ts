/** Commands that go in by the stack's own way, against a Docker host over SSH that is silent, before them and in their middle. */

import { writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import process from "node:process";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { lacks } from "../lanes/tools.ts";
import { createCli, outcomeOf, untilPrinted } from "../support/cli.ts";
import { deployedDirectory } from "../support/deployed-directory.ts";
import { createFakeTools } from "../support/fake-tools.ts";
import { startStalledProxy } from "../support/ssh/stalled-proxy.ts";

/** SSH gives a silent host up after 75 s, and the question whether it is there takes half a minute at most. */
const LONG_MS = 6 * 60_000;
const SAID =
  /^Error: 127\.0\.0\.1 cannot be reached over SSH: .*\nHint: See that `ssh -p \d+ \S+@127\.0\.0\.1` works\.$/m;

const COMMANDS = [
  ["logs"],
  ["logs", "--postgres", "--follow"],
  ["exec", "--", "true"],
  ["chat", "hello"],
  ["memory", "stats"],
  ["memory", "backups"],
  ["memory", "backup", "memory.backup"],
  ["backup", "all.age", "--passphrase-file", "passphrase"],
  ["token", "list"],
];

describe.skipIf(lacks("sshd"))("a host that is silent", () => {
  /** A stack of two nodes there, whose containers are played. */
  async function stack() {
    const tools = await createFakeTools();
    onTestFinished(() => tools.remove());
    vi.stubEnv("PATH", `${tools.directory}${delimiter}${process.env.PATH}`);
    const proxy = await startStalledProxy();
    onTestFinished(() => proxy.stop());
    await tools.add("docker", 'case "$*" in *version*) echo 28 ;; *) echo begun; exec sleep 3600 ;; esac');
    const cli = await createCli();
    const more = `  docker: { host: '${proxy.url}' }\n`;
    await deployedDirectory(cli.home, { ports: { "nova-1": 1, "nova-2": 2 }, place: proxy.url, more });
    return { proxy, cli, env: { PATH: `${proxy.programs}${delimiter}${process.env.PATH}` } };
  }

  it("is said by every command that goes to a node", { timeout: LONG_MS }, async () => {
    const { proxy, cli, env } = await stack();
    await writeFile(join(cli.home, "passphrase"), "correct horse battery staple\n", { mode: 0o600 });
    proxy.silence();
    const outcomes = await Promise.all(COMMANDS.map((argv) => cli.runInOwnProcess(argv, { env })));
    for (const [index, { code, stderr }] of outcomes.entries()) {
      expect(stderr, COMMANDS[index]?.join(" ")).toMatch(SAID);
      expect(code).toBe(1);
    }
  });

  it("is said in the middle of a log that is followed, and of a command", { timeout: LONG_MS }, async () => {
    const { proxy, cli, env } = await stack();
    const begun = [
      ["logs", "--follow"],
      ["exec", "--", "true"],
    ].map((argv) => cli.start(argv, { env }));
    await Promise.all(begun.map((child) => untilPrinted(child, "begun")));
    proxy.silence();
    for (const { code, stderr } of await Promise.all(begun.map(outcomeOf))) {
      expect(stderr).toMatch(SAID);
      expect(code).toBe(1);
    }
  });
});
