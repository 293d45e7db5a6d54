/** Which of Pulumi's provider plugins are installed: they come from no package registry, so that a machine may lack them. */

import { spawnSync } from "node:child_process";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import process from "node:process";
import { z } from "zod";

const listShape = z.array(z.object({ name: z.string(), kind: z.string() }));

/** Why a test with these providers cannot run here, or undefined when it can: `describe.skipIf(missingPlugins("docker"))`. */
export function missingPlugins(...names: readonly string[]): string | undefined {
  const path = [process.env.PATH ?? "", join(homedir(), ".pulumi", "bin")].join(delimiter);
  const result = spawnSync("pulumi", ["plugin", "ls", "--json"], {
    encoding: "utf8",
    timeout: 30_000,
    env: { ...process.env, PATH: path, PULUMI_SKIP_UPDATE_CHECK: "1" },
  });
  if (result.status !== 0) return "pulumi is not installed";
  const installed = listShape.parse(JSON.parse(result.stdout)).filter(({ kind }) => kind === "resource");
  const missing = names.filter((name) => !installed.some((plugin) => plugin.name === name));
  return missing.length === 0 ? undefined : `no plugin of Pulumi for ${missing.join(", ")}`;
}
