/** `pulumi` by hand in the rendered project, on a real engine with its Node.js language host, beside the commands. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import process from "node:process";
import { execa } from "execa";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { preview } from "../../control/deploy/operations/preview.ts";
import { up } from "../../control/deploy/operations/up.ts";
import { makeStubPlugins, type StubPlugins } from "../fakes/pulumi/stub-plugins.ts";
import { lacks } from "../lanes/tools.ts";
import { infraRun, type ProjectShape, TOKEN, writeProject } from "../support/infra-project.ts";

const SHAPE: ProjectShape = { stack: "hand", nodes: ["one", "two"] };
const FROM_SOURCE = new URL("../support/infra/from-source.mjs", import.meta.url).href;

describe.skipIf(lacks("pulumi-nodejs"))("pulumi by hand", { concurrent: false }, () => {
  let base: string;
  let dir: string;
  let plugins: StubPlugins;

  beforeAll(() => {
    base = mkdtempSync(join(tmpdir(), "cairn-by-hand-"));
    dir = join(base, "deployment");
    plugins = makeStubPlugins(join(base, "stubs"));
    writeProject(dir, SHAPE);
  });
  beforeEach(() => {
    vi.stubEnv("PATH", `${plugins.bin}${delimiter}${process.env["PATH"]}`);
    vi.stubEnv("PULUMI_HOME", join(base, "pulumi"));
  });
  afterAll(() => rmSync(base, { recursive: true, force: true }));

  const run = () => infraRun({ dir, home: join(base, "home"), target: { plugins } });

  /** As the README of the project says it. */
  async function byHand(...args: string[]): Promise<{ readonly code: number | undefined; readonly text: string }> {
    const { exitCode, all } = await execa("pulumi", [...args, "--stack", SHAPE.stack, "--non-interactive"], {
      cwd: join(dir, "infra"),
      env: {
        PULUMI_CONFIG_PASSPHRASE_FILE: ".passphrase",
        PULUMI_SKIP_UPDATE_CHECK: "true",
        NODE_OPTIONS: `--import ${FROM_SOURCE}`,
      },
      all: true,
      reject: false,
    });
    return { code: exitCode, text: all };
  }

  it("finds nothing to change after `infra up`: the same resources with the same settings", async () => {
    await up(run(), { node: undefined, image: undefined, adopt: false, yes: true });
    const { code, text } = await byHand("preview", "--expect-no-changes", "--diff");
    expect(text).toContain("unchanged");
    expect(code).toBe(0);
    expect(text).not.toContain(TOKEN);
  });

  it("makes the change that the command would make, and the command then finds nothing to change", async () => {
    writeProject(dir, { ...SHAPE, memory: "1Gi" });
    const planned = await preview(run());
    expect(planned.changes.map(({ name }) => name).sort()).toEqual(["hand-one", "hand-two"]);
    plugins.forget();
    const { code, text } = await byHand("up", "--yes", "--skip-preview");
    expect(text).not.toContain(TOKEN);
    expect(code).toBe(0);
    const made = plugins.calls().filter(({ op }) => op !== "read");
    expect(made.map(({ name }) => name).sort()).toEqual(["hand-one", "hand-two"]);
    expect((await preview(run())).changes).toEqual([]);
  });
});
