import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type InitOptions, initialize } from "../../../control/wizard/init.ts";
import { readAnswersFile } from "../../../control/wizard/parse-answers.ts";
import { inspectConfig } from "../../../runtime/config/index.ts";
import { CairnError } from "../../../runtime/contracts/errors.ts";
import { bareEnvironment, deploymentDirectory, temporaryDirectory } from "../../support/deployment.ts";

function setup(dir: string, options: Partial<InitOptions> = {}) {
  return initialize({
    directories: { dir, home: dir, file: join(dir, "cairn.yaml") },
    env: bareEnvironment(),
    localServers: [],
    timezone: "UTC",
    ...options,
  });
}

async function failureOf(work: Promise<unknown>): Promise<{ code: string; message: string; hint: string }> {
  const error: unknown = await work.then(
    () => "it did not fail",
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof CairnError)) throw error;
  return { code: error.code, message: error.message, hint: error.details.hint ?? "" };
}

describe("an answers file that is no use", () => {
  test.each([
    ["is not there", null, /ENOENT: it is not there/, /path/],
    ["is a directory", undefined, /EISDIR: it is a directory/, /file itself/],
    ["is broken", "timezone: UTC\nagents: [\n", /line 3, column 1/, /Correct that place/],
    ["is several documents", "timezone: UTC\n---\nlisten: x\n", /second document .*only one/, /Keep one of them/],
    ["is a list", "- a\n", /a mapping of answers/, /Correct/],
    ["says something twice", "provider: { id: a }\nprovider: { id: b }\n", /line 2.*unique/, /Correct/],
  ])("because it %s is told with what to do next", async (_why, content, words, advice) => {
    const path = join(await temporaryDirectory(), "answers.yaml");
    if (content === undefined) await mkdir(path);
    else if (content !== null) await writeFile(path, content);
    const { code, message, hint } = await failureOf(readAnswersFile(path));
    expect(code).toBe("CONFIG_UNREADABLE");
    expect(message).toMatch(words);
    expect(message).toContain(path);
    expect(hint).toMatch(advice);
  });

  test("is none where it only has long numbers", async () => {
    const path = join(await temporaryDirectory(), "answers.yaml");
    await writeFile(path, "channels: [{ id: discord, owner_id: 123456789012345678901 }]\n");
    expect(await readAnswersFile(path)).toEqual({ channels: [{ id: "discord", owner_id: "123456789012345678901" }] });
  });
});

describe("a configuration that is no use", () => {
  test.each([
    ["broken YAML", "a: [\n", /line 2, column 1/, /Correct that place/],
    ["several documents", "version: 1\n---\nversion: 1\n", /line 2, column 1: a second document/, /Keep one of them/],
    ["a list", "- a\n", /headed by `version: 1`/, /Correct/],
  ])("for %s says where, and what to do next", async (_what, yaml, words, advice) => {
    const dir = await deploymentDirectory({ yaml, env: "" });
    for (const attempt of [inspectConfig({ dir, env: bareEnvironment() }), setup(dir, { purpose: "change" })]) {
      const { code, message, hint } = await failureOf(attempt);
      expect(code).toBe("CONFIG_INVALID");
      expect(message).toMatch(words);
      expect(hint).toMatch(advice);
    }
    expect(await readFile(join(dir, "cairn.yaml"), "utf8")).toBe(yaml);
  });

  test("because a directory is in its place is told so", async () => {
    const dir = await temporaryDirectory();
    await mkdir(join(dir, "cairn.yaml"));
    const { message, hint } = await failureOf(inspectConfig({ dir, env: bareEnvironment() }));
    expect(message).toContain("EISDIR: it is a directory");
    expect(hint).not.toBe("");
  });

  test("because its secrets cannot be read is told so", async () => {
    const dir = await temporaryDirectory();
    await mkdir(join(dir, ".env"));
    const { message, hint } = await failureOf(setup(dir));
    expect(message).toContain("not a regular file");
    expect(hint).toContain("NAME=value");
  });
});

describe("a place that cannot be written", () => {
  test("because a file is on the way is told as that", async () => {
    const dir = await temporaryDirectory();
    await writeFile(join(dir, "taken"), "");
    const { code, message, hint } = await failureOf(setup(join(dir, "taken", "home")));
    expect(code).toBe("CONFIG_UNWRITABLE");
    expect(message).toContain("ENOTDIR: a part of that path is a file");
    expect(message).not.toContain("may not");
    expect(hint).toMatch(/The configuration was not changed\..*--dir/);
  });

  test("because the disk is full is told as that", async () => {
    const full = () => {
      throw Object.assign(new Error("no space left"), { code: "ENOSPC" });
    };
    const { message, hint } = await failureOf(setup(join(await temporaryDirectory(), "d"), { onWritten: full }));
    expect(message).toContain("ENOSPC: the disk is full");
    expect(hint).toContain("Make room");
  });
});
