/** The composition root in the test's own process, over a deployment directory, with the redactors that a node's process gives it. */

import { join } from "node:path";
import { type Logger, pino } from "pino";
import { onTestFinished } from "vitest";
import { createLearningRedactor, type LoadedConfig, loadConfig } from "../../runtime/config/index.ts";
import { startHost } from "../../runtime/host.ts";
import { bareEnvironment } from "./deployment.ts";

/** The owner's token, which the deployment directory's .env has to name. */
export const OWNER_TOKEN = "cairn_test_0123456789abcdefghijklmnopqrstuvwxyz";
export const OWNER_ENV = `SERVICE_API_TOKEN='${OWNER_TOKEN}'\n`;

export interface StartedHostSpec {
  /** The deployment directory; the home is in it, and has its store already. */
  readonly dir: string;
  /** What the node is given instead of what was loaded. */
  readonly prepare?: (loaded: LoadedConfig) => LoadedConfig;
  readonly logger?: Logger;
}

/** Ready; ends with the test. */
export async function startedHost({ dir, prepare = (same) => same, logger }: StartedHostSpec) {
  const env = bareEnvironment({ SERVICE_LISTEN: "127.0.0.1:0", PATH: process.env["PATH"] ?? "" });
  const loaded = await loadConfig({ dir, home: join(dir, "home"), env });
  const host = await startHost({
    loaded: prepare(loaded),
    version: "0.0.0",
    boot: "test",
    log: { logger: logger ?? pino({ level: "silent" }), close: async () => undefined },
    ...createLearningRedactor(loaded.secrets),
    maintenance: false,
  });
  onTestFinished(() => host.stop());
  await host.ready;
  return {
    url: host.url,
    stop: () => host.stop(),
    /** With a body it is a POST of JSON. */
    request: (path: string, body?: object, token = OWNER_TOKEN, method = body ? "POST" : "GET"): Promise<Response> =>
      fetch(`${host.url}${path}`, {
        method,
        headers: { authorization: `Bearer ${token}`, ...(body ? { "content-type": "application/json" } : {}) },
        body: body ? JSON.stringify(body) : null,
      }),
  };
}
