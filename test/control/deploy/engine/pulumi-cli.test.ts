import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { findPulumi, OLDEST_ENGINE } from "../../../../control/deploy/engine/pulumi-cli.ts";
import { isOlder } from "../../../../runtime/contracts/versions.ts";
import { until } from "../../../support/eventually.ts";

let folder: string;
const said: string[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "cairn-cli-"));
  said.length = 0;
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A program called pulumi that does what the shell text says. */
function program(name: string, text: string): string {
  const bin = join(folder, name, "bin");
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, "pulumi"), `#!/bin/sh\n${text}\n`);
  chmodSync(join(bin, "pulumi"), 0o755);
  return bin;
}
const options = (path: string) => ({
  env: { PATH: path },
  installRoot: join(folder, "installed"),
  killSignal: new AbortController().signal,
  report: (text: string) => void said.push(text),
});

describe("the Pulumi command", () => {
  it("is the one on PATH", async () => {
    const bin = program("own", "echo v3.250.0");
    expect(await findPulumi(options(`/nowhere:${bin}`))).toMatchObject({
      command: join(bin, "pulumi"),
      version: "3.250.0",
    });
    expect(said).toEqual([]);
  });

  it("is installed once where there is none", async () => {
    let installs = 0;
    const install = async () => {
      installs += 1;
      program("installed", "echo v3.270.0");
    };
    const found = await findPulumi(options("/nowhere"), { install });
    expect(found).toMatchObject({ command: join(folder, "installed/bin/pulumi"), version: "3.270.0" });
    expect(said).toEqual([expect.stringContaining("Installing Pulumi")]);
    await findPulumi(options("/nowhere"), { install });
    expect(installs).toBe(1);
  });

  it.each([
    ["cannot be installed", "/nowhere", /could not be installed: getaddrinfo ENOTFOUND get\.pulumi\.com\.$/],
    ["is too old", "old", /Pulumi 3\.100\.2; at least/],
    ["is something else", "other", /does not work as Pulumi/],
  ])("that %s is missing, with what helps", async (_words, which, message) => {
    const old = program("old", "echo v3.100.2");
    const other = program("other", "echo hello; exit 1");
    const path = which === "old" ? old : which === "other" ? other : which;
    const install = () => Promise.reject(new Error("getaddrinfo ENOTFOUND get.pulumi.com"));
    await expect(findPulumi(options(path), { install })).rejects.toMatchObject({
      code: "INFRA_TOOL_MISSING",
      message: expect.stringMatching(message),
      details: { hint: expect.stringContaining(OLDEST_ENGINE) },
    });
  });

  it("gets no passphrase of the operator's environment, which would win over the file", async () => {
    const bin = program("own", 'if [ "$1" = version ]; then echo v3.250.0; else env; fi');
    const cli = await findPulumi(options(bin));
    process.env["PULUMI_CONFIG_PASSPHRASE"] = "from-the-shell";
    try {
      const { stdout } = await cli.run(["env"], { cwd: folder, env: { PULUMI_CONFIG_PASSPHRASE_FILE: "/x" } });
      expect(stdout).toContain("PULUMI_CONFIG_PASSPHRASE_FILE=/x");
      expect(stdout).not.toMatch(/PULUMI_CONFIG_PASSPHRASE=/);
    } finally {
      delete process.env["PULUMI_CONFIG_PASSPHRASE"];
    }
  });

  it("is asked to stop once, and ended when somebody insists", async () => {
    const bin = program(
      "own",
      `if [ "$1" = version ]; then echo v3.250.0; exit; fi
      trap 'echo stopping' INT; echo ready > ${folder}/ready; while :; do sleep 0.05; done`,
    );
    const kill = new AbortController();
    const stop = new AbortController();
    const cli = await findPulumi({ ...options(bin), killSignal: kill.signal, killAfterMs: 100 });
    const run = cli.run(["up"], { cwd: folder, env: {}, signal: stop.signal });
    const outcome = expect(run).rejects.toMatchObject({ name: "PulumiFailure", cancelled: true });
    stop.abort();
    kill.abort();
    await outcome;
  });

  it("ends its step, and itself, when the command that started it was killed", async () => {
    const bin = program(
      "own",
      `if [ "$1" = version ]; then echo v3.250.0; exit; fi
      echo begun; touch started; while [ ! -e killed ]; do sleep 0.05; done; echo more; echo more >&2; touch done`,
    );
    const own = `import { findPulumi } from ${JSON.stringify(import.meta.resolve("../../../../control/deploy/engine/pulumi-cli.ts"))};
      const signal = new AbortController().signal;
      const env = { PATH: ${JSON.stringify(`${bin}:${process.env["PATH"]}`)} };
      const cli = await findPulumi({ env, installRoot: "/nowhere", killSignal: signal, report: () => undefined });
      await cli.automation.run(["up"], ${JSON.stringify(folder)}, {});`;
    const command = spawn(process.execPath, ["--input-type=module", "--eval", own], { stdio: "inherit" });
    await until(() => existsSync(join(folder, "started")));
    command.kill("SIGKILL");
    await once(command, "exit");
    writeFileSync(join(folder, "killed"), "");
    await until(() => existsSync(join(folder, "done")));
  });

  it("is read to its end where an operation fails", async () => {
    const bin = program(
      "own",
      `if [ "$1" = version ]; then echo v3.250.0; exit; fi\necho some; echo other >&2; exit 255`,
    );
    const cli = await findPulumi(options(bin));
    // What the Automation API calls; its types keep it to themselves.
    const { run } = cli.automation as unknown as { run(args: string[], cwd: string, env: object): Promise<unknown> };
    await expect(run(["up"], folder, {})).rejects.toMatchObject({ stdout: "some\n", stderr: "other\n" });
  });

  it("compares versions by their numbers", () => {
    expect(isOlder("3.99.9", "3.206.0")).toBe(true);
    expect(isOlder("3.206.0", "3.206.0")).toBe(false);
    expect(isOlder("4.0.0", "3.206.0")).toBe(false);
  });
});
