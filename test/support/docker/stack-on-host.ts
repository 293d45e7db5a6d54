/** A stack whose Docker host is the test's own: its power can be cut, its disk can be full. The commands are typed on it. */

import { onTestFinished, vi } from "vitest";
import { ensureTestImages } from "./images.ts";
import { type SecondEngine, startSecondEngine } from "./second-engine.ts";
import { type TypedStack, typedStack } from "./typed-stack.ts";

export interface HostedStack {
  readonly stack: TypedStack;
  readonly engine: SecondEngine;
}

/** Built and configured, not deployed. Ends with the test. `lacks("docker-twice")` tells whether it can. */
export async function stackOnHost(
  nodes: readonly string[],
  options: { readonly diskMiB?: number } = {},
): Promise<HostedStack> {
  const images = await ensureTestImages();
  const engine = await startSecondEngine(options);
  onTestFinished(() => engine.stop());
  const stack = await typedStack(nodes, { before: engine.inside });
  await engine.load(images.node, images.postgres, `${stack.name}:1`);
  // From here on everything means that host, the engine's provider as well. What was built is removed from the machine's own.
  vi.stubEnv("DOCKER_HOST", engine.host);
  onTestFinished(() => void vi.unstubAllEnvs());
  return { stack, engine };
}
