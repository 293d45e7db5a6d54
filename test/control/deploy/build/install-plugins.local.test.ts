/** The step of an image that installs what plugins need, against a registry. */

import { access, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { execa } from "execa";
import { expect, it, onTestFinished } from "vitest";
import { ROOT } from "../../../../scripts/lib/paths.js";
import { temporaryDirectory } from "../../../support/deployment.ts";
import { packed, startRegistry } from "../../../support/npm-registry.ts";

it("asks for what a plugin needs, and for nothing that only its author has", async () => {
  const cloud = { name: "cloud", version: "2.3.4", type: "module", exports: "./index.js" };
  const registry = await startRegistry([
    await packed({ "package.json": JSON.stringify(cloud), "index.js": "export const name = 1;" }),
  ]);
  onTestFinished(() => registry.close());
  const plugins = await temporaryDirectory();
  const sky = {
    name: "sky",
    type: "module",
    cairn: { kind: "tool", contract: 1 },
    dependencies: { cloud: "^2.0.0" },
    devDependencies: { "cairn-agents": "file:/nowhere", typescript: "6.0.3" },
    peerDependencies: { "cairn-agents": "0.0.0" },
  };
  const nullPeers = { ...sky, peerDependencies: null };
  for (const [name, manifest] of Object.entries({ sky, nullPeers, plain: { ...sky, dependencies: {} } })) {
    await mkdir(join(plugins, "0", name), { recursive: true });
    await writeFile(join(plugins, "0", name, "package.json"), JSON.stringify(manifest));
  }
  await execa(process.execPath, [join(ROOT, "templates", "image", "install-plugins.js"), "amd64", plugins], {
    env: {
      npm_config_registry: registry.url,
      npm_config_cache: await temporaryDirectory(),
      npm_config_fetch_retries: "0",
    },
  });
  for (const name of ["sky", "nullPeers"]) await access(join(plugins, "0", name, "node_modules", "cloud", "index.js"));
  expect(registry.requests.filter((path) => !path.includes("cloud"))).toEqual([]);
});
