/** What the table of unbuilt settings says is compared with a node: it reads none of them, and has none of those channels. */

import { join } from "node:path";
import { pino } from "pino";
import { expect, it, onTestFinished } from "vitest";
import { loadConfig } from "../../../runtime/config/index.ts";
import { BUILT_CHANNEL, NOT_IMPLEMENTED } from "../../../runtime/config/not-implemented.ts";
import { startHost } from "../../../runtime/host.ts";
import { placeEmbeddedCopy } from "../../support/databases.ts";
import { bareEnvironment, deploymentDirectory, MINIMAL } from "../../support/deployment.ts";

const TOKEN = "cairn_test_0123456789abcdefghijklmnopqrstuvwxyz";

/** The value; each path in it that is read is noted, with `*` where a key is a name of the user's. */
function recorded<T extends object>(value: T, note: (path: string) => void, path: readonly string[] = []): T {
  return new Proxy(value, {
    get(target, key, receiver) {
      const found: unknown = Reflect.get(target, key, receiver);
      if (typeof key !== "string" || !Object.hasOwn(target, key)) return found;
      const inner = [...path, key];
      note(inner.join("."));
      return typeof found === "object" && found !== null ? recorded(found, note, inner) : found;
    },
  });
}

it("a node reads no setting that the table names, and has the one channel that it leaves out", async () => {
  const dir = await deploymentDirectory({
    yaml: `${MINIMAL}channels: { telegram: { token: abc, owner_id: 1 } }\nmcp: { servers: { a: { command: x } } }\n`,
    env: `SERVICE_API_TOKEN='${TOKEN}'\n`,
  });
  await placeEmbeddedCopy(join(dir, "home", "store"));
  const env = bareEnvironment({ SERVICE_LISTEN: "127.0.0.1:0" });
  const loaded = await loadConfig({ dir, home: join(dir, "home"), env });
  const read = new Set<string>();
  const host = await startHost({
    loaded: { ...loaded, config: recorded(loaded.config, (path) => void read.add(path)) },
    version: "0.0.0",
    boot: "test",
    log: { logger: pino({ level: "silent" }), close: async () => undefined },
    redact: (text) => text,
    redactValues: (text) => text,
    hide: () => undefined,
    maintenance: false,
  });
  onTestFinished(() => host.stop());
  await host.ready;
  const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" };
  const body = JSON.stringify({ session: "s", text: "hello" });
  const answer = await fetch(`${host.url}/api/agents/main/messages`, { method: "POST", headers, body });
  expect(answer.status).toBe(200);
  const health = JSON.parse(await (await fetch(`${host.url}/health`, { headers })).text());
  expect(Object.keys(health.result.channels)).toEqual([BUILT_CHANNEL]);

  // It does see what is read.
  expect([...read]).toEqual(
    expect.arrayContaining(["agents.main.provider", "providers.offline.kind", "runtime.lease"]),
  );
  const patterns = NOT_IMPLEMENTED.filter(({ path, asks }) => asks === undefined && !SHOWN.has(path.join("."))).map(
    ({ path }) => new RegExp(`^${path.map((part) => (part === "*" ? "[^.]+" : part)).join("\\.")}(?:\\.|$)`),
  );
  expect(patterns.length).toBeGreaterThan(20);
  expect([...read].filter((path) => patterns.some((pattern) => pattern.test(path)))).toEqual([]);
});

/** Read only to be shown by /health. */
const SHOWN = new Set(["mesh.enabled"]);
