/**
 * An update in a process of its own: `node run.ts JSON`. Prints its result; `kill` names the step at whose beginning the process
 * is killed, as a power failure would.
 */

import process from "node:process";
import { findDeployment } from "../../../control/service/deployment.ts";
import { updateTree } from "../../../control/update/update-tree.ts";

interface Asked {
  readonly root: string;
  readonly dir: string;
  readonly version?: string;
  readonly prebuilt?: { readonly archive: string; readonly checksum?: string };
  readonly restart?: boolean;
  readonly kill?: string;
}

// The test that starts it writes this.
const asked = JSON.parse(process.argv[2] ?? "") as Asked;
try {
  const result = await updateTree({
    deployment: findDeployment({ dir: asked.dir }),
    root: asked.root,
    version: asked.version,
    prebuilt: asked.prebuilt && { archive: asked.prebuilt.archive, checksum: asked.prebuilt.checksum },
    restart: asked.restart ?? true,
    readyMs: 20_000,
    signal: new AbortController().signal,
    report: () => undefined,
    now: () => new Date(),
    onStep: (step) => {
      if (step === asked.kill) process.kill(process.pid, "SIGKILL");
    },
  });
  process.stdout.write(JSON.stringify(result));
} catch (error) {
  const hint = error instanceof Error && "details" in error ? error.details : undefined;
  process.stdout.write(JSON.stringify({ error: String(error), hint }));
}
