/** Where a workspace lies, as `config validate`, the start and doctor say it. */

import { mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { inspectConfig } from "../../../runtime/config/index.ts";
import { bareEnvironment, deploymentDirectory } from "../../support/deployment.ts";

const BASE = "version: 1\nagents:\n  main: {}\n  writer: { WRITER }\nproviders:\n  offline: {}\nruntime: { RUNTIME }\n";

async function warningsOf(runtime: string, writer = "", home = "home"): Promise<[string, string][]> {
  const dir = await deploymentDirectory({ yaml: BASE.replace("RUNTIME", runtime).replace("WRITER", writer) });
  await mkdir(join(dir, "workspace"));
  await symlink(dir, join(dir, "workspace", "..", "named"));
  const { warnings, errors } = await inspectConfig({ dir, home: join(dir, home), env: bareEnvironment() });
  expect(errors).toEqual([]);
  return warnings.map(({ path, message }) => [path, message]);
}

describe("a workspace", () => {
  it.each([
    ["the default", ""],
    ["a directory beside", "workspace: ../elsewhere"],
    ["a directory below", "workspace: a/b/c"],
    ["one of a like name", "workspace: home-of-agents"],
  ])("that is %s is no reason to warn", async (_, runtime) => {
    expect(await warningsOf(runtime)).toEqual([]);
  });

  it.each([
    ["the deployment directory itself", "workspace: ."],
    ["around it", "workspace: .."],
    ["a link to it", "workspace: named"],
    ["the root", "workspace: /"],
  ])("that is %s is warned of", async (_, runtime) => {
    const warnings = await warningsOf(runtime);
    expect(warnings).toEqual([["runtime.workspace", expect.stringContaining("the deployment directory")]]);
    expect(warnings[0]?.[1]).toContain("home directory");
  });

  it("that is the home, or an agent's own, is warned of", async () => {
    expect(await warningsOf("workspace: home")).toEqual([["runtime.workspace", expect.stringContaining("home")]]);
    expect(await warningsOf("", "workspace: .")).toEqual([
      ["runtime.workspace", expect.stringContaining("inside agents.writer.workspace")],
      ["agents.writer.workspace", expect.stringContaining("the deployment directory")],
    ]);
  });

  it("inside another agent's is warned of: that one can put a link in its place", async () => {
    expect(await warningsOf("", "workspace: workspace/writer")).toEqual([
      ["agents.writer.workspace", expect.stringContaining("inside runtime.workspace")],
    ]);
  });
});
