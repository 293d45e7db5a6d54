/** Makes what lanes need and what takes minutes the first time: `prepare.ts engine docker ...`. Nothing when it is there. */

import process from "node:process";
import { buildEngine } from "./pulumi/engine.ts";

const PREPARATIONS: Readonly<Record<string, () => Promise<unknown>>> = {
  engine: buildEngine,
  kubernetes: async () => (await import("../support/kubernetes/binaries.ts")).buildKubernetes(),
  "live-cluster": async () => (await import("../support/kubernetes/binaries.ts")).buildMachine(),
  docker: async () => (await import("../support/docker/images.ts")).ensureTestImages(),
};

for (const name of process.argv.slice(2)) {
  const prepare = PREPARATIONS[name];
  if (prepare === undefined) continue;
  process.stdout.write(`Preparing the lane ${name}, unless it is\n`);
  try {
    await prepare();
  } catch (error) {
    process.stderr.write(`${name}: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}
