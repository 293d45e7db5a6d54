import { type StdioOptions, spawnSync } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import type { Command } from "@oclif/core";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { createCli } from "../../support/cli.ts";

// Each test runs several processes, which take their time on a busy machine.

const FOLDER = fileURLToPath(new URL("../../../control/commands", import.meta.url));

/** Commands that print a result of their own making, not through the one place for results, may be named here. */
const WITHOUT_JSON: readonly string[] = [];

describe("every command", async () => {
  const files = (await readdir(FOLDER, { recursive: true })).filter((name) => name.endsWith(".ts")).sort();
  const commands = new Map<string, typeof Command>();

  beforeAll(async () => {
    for (const file of files) {
      const module: { default: typeof Command } = await import(join(FOLDER, file));
      commands.set(file, module.default);
    }
  });

  it.each(files)("%s says what it does, shows examples and has --json", (file) => {
    const command = commands.get(file);
    expect(command?.description ?? "").not.toBe("");
    expect(command?.examples ?? []).not.toHaveLength(0);
    expect(command?.enableJsonFlag).toBe(!WITHOUT_JSON.includes(file));
    for (const [name, flag] of Object.entries(command?.flags ?? {})) {
      expect(flag.description ?? "", `--${name}`).not.toBe("");
    }
    for (const [name, arg] of Object.entries(command?.args ?? {})) {
      expect(arg.description ?? "", name).not.toBe("");
      // Otherwise the framework takes what is piped in for an argument that was not given.
      expect(arg.ignoreStdin, name).toBe(true);
    }
  });

  it.each(files)("%s prints exactly one JSON document when it is used wrongly, and exits 2", async (file) => {
    const cli = await createCli();
    const words = file.replace(/\.ts$/, "").split("/");
    const { code, stdout, stderr } = await cli.run([...words, "--json", "--no-such-flag"]);
    expect(code).toBe(2);
    expect(JSON.parse(stdout)).toMatchObject({ ok: false, error: { code: "RUNTIME_INVALID_REQUEST" } });
    expect(stderr).toBe("");
  });
});

describe("an output that cannot be written", () => {
  it.each([["version"], ["version", "--json"]])("is told of without a stack: %s %s", async (...argv) => {
    const cli = await createCli();
    const program = fileURLToPath(new URL("../../support/cairn.ts", import.meta.url));
    const full = openSync("/dev/full", "w");
    onTestFinished(() => closeSync(full));
    const stdio: StdioOptions = ["ignore", full, "pipe"];
    const { status, stderr } = spawnSync(process.execPath, [program, ...argv], {
      env: cli.env,
      encoding: "utf8",
      stdio,
    });
    expect(status).toBe(1);
    expect(stderr).toBe("Error: The output could not be written (ENOSPC).\n");
  });
});

describe("results as JSON", () => {
  it("are not coloured, and errors are one document too", async () => {
    const cli = await createCli();
    const { code, stdout } = await cli.run(["chat", "hello", "--json"], { env: { FORCE_COLOR: "1" } });
    expect(code).toBe(1);
    expect(JSON.parse(stdout).error.code).toBe("RUNTIME_NOT_RUNNING");
  });
});

describe("version", () => {
  it("is the same whether the program answers at once or the command does", async () => {
    const program = fileURLToPath(new URL("../../../bin/cairn.js", import.meta.url));
    const cli = await createCli();
    const { stdout } = await cli.run(["version"]);
    const atOnce = spawnSync(process.execPath, [program, "version"], { encoding: "utf8" });
    expect(atOnce).toMatchObject({ status: 0, stdout, stderr: "" });
  });
});

describe("wrong usage", () => {
  it("of a name is answered with the nearest one", async () => {
    const cli = await createCli();
    const { code, stderr } = await cli.run(["memory", "bakcup"]);
    expect(code).toBe(2);
    expect(stderr).toContain("There is no command `memory bakcup`");
    expect(stderr).toContain("`cairn memory backup`");
  });

  it("of a name is one document with --json", async () => {
    const cli = await createCli();
    const { code, stdout } = await cli.run(["strat", "--json"]);
    expect(code).toBe(2);
    expect(JSON.parse(stdout)).toMatchObject({ ok: false, error: { hint: expect.stringContaining("`cairn start`") } });
  });

  it("of a required flag names it", async () => {
    const cli = await createCli();
    const { code, stderr } = await cli.run(["token", "create", "x"]);
    expect(code).toBe(2);
    expect(stderr).toContain("scope");
  });
});

describe("help", () => {
  it.each([["--help"], ["help"], ["chat", "--help"], ["help", "memory", "backup"]])("%s %s", async (...argv) => {
    const cli = await createCli();
    const { code, stdout, stderr } = await cli.run(argv);
    expect(code).toBe(0);
    expect(stdout).toContain("USAGE");
    expect(stderr).toBe("");
  });

  it("has no colours without a terminal", async () => {
    const cli = await createCli();
    expect((await cli.run(["--help"])).stdout).not.toContain("\u001b[");
  });
});
