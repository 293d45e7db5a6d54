import { mkdir, open, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { tryLock } from "fs-native-extensions";
import { describe, expect, it, onTestFinished } from "vitest";
import { createCli } from "../../support/cli.ts";

// Each test runs several processes, which take their time on a busy machine.

describe("cairn update", () => {
  it("refuses an image for a node that runs a program of this machine, and says what it takes", async () => {
    const cli = await createCli();
    const { code, stderr } = await cli.run(["update", "--prebuilt", "cairn:1"]);
    expect(code).toBe(2);
    expect(stderr).toContain("npm pack");
    expect(stderr).toContain("--version");
  });

  it("says that nothing is deployed where a target is named", async () => {
    const cli = await createCli();
    const yaml = await readFile(join(cli.home, "cairn.yaml"), "utf8");
    await writeFile(join(cli.home, "cairn.yaml"), `${yaml}deployment:\n  target: docker\n`);
    const { code, stdout } = await cli.run(["update", "--json"]);
    expect(code).toBe(1);
    expect(JSON.parse(stdout).error.hint).toContain("cairn infra up");
  });

  it("says how a fleet is listed, and that each of its nodes is restarted", async () => {
    const cli = await createCli();
    const none = await cli.run(["update", "--mesh"]);
    expect(none.code).toBe(2);
    expect(none.stderr).toContain("host_key");
    const still = await cli.run(["update", "--mesh", "--no-restart"]);
    expect(still.code).toBe(2);
    expect(still.stderr).toContain("--no-restart");
  });

  it.each([
    ["--history", "--canary", "one"],
    ["--history", "--max-unavailable", "2"],
    ["--history", "--no-restart"],
    ["--dry-run", "--no-restart"],
  ])("refuses flags that say nothing to it: --mesh %s %s", async (...flags) => {
    const cli = await createCli();
    const { code, stderr } = await cli.run(["update", "--mesh", ...flags]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/restart|canary|max-unavailable/);
  });

  it("ends with 3 while another one is under way, and names it", async () => {
    const cli = await createCli();
    await mkdir(join(cli.home, "run"), { recursive: true });
    const lock = await open(join(cli.home, "run", "update.lock"), "a+");
    onTestFinished(() => lock.close());
    await lock.writeFile(`${process.pid}\n`);
    expect(tryLock(lock.fd)).toBe(true);
    const { code, stdout } = await cli.run(["update", "--json"]);
    expect(code).toBe(3);
    expect(JSON.parse(stdout).error).toMatchObject({
      code: "INFRA_LOCKED",
      message: expect.stringContaining(String(process.pid)),
    });
  });
});
