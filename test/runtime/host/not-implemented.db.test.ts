/** What the table of unbuilt settings says is compared with a node: it reads none of them, and has none of those channels. */

import { join } from "node:path";
import { expect, it } from "vitest";
import { NOT_IMPLEMENTED } from "../../../runtime/config/not-implemented.ts";
import { placeEmbeddedCopy } from "../../support/databases.ts";
import { deploymentDirectory, MINIMAL } from "../../support/deployment.ts";
import { OWNER_ENV, startedHost } from "../../support/started-host.ts";

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

it("a node reads no setting that the table names, and has none of the channels that it names", async () => {
  const dir = await deploymentDirectory({
    yaml: `${MINIMAL}channels: { console: {} }\n`,
    env: OWNER_ENV,
  });
  await placeEmbeddedCopy(join(dir, "home", "store"));
  const read = new Set<string>();
  const { request } = await startedHost({
    dir,
    prepare: (loaded) => ({ ...loaded, config: recorded(loaded.config, (path) => void read.add(path)) }),
  });
  const answer = await request("/api/agents/main/messages", { session: "s", text: "hello" });
  expect(answer.status).toBe(200);
  const health = JSON.parse(await (await request("/health")).text());
  expect(Object.keys(health.result.channels)).toEqual(["agent"]);

  // It does see what is read.
  expect([...read]).toEqual(
    expect.arrayContaining(["agents.main.provider", "providers.offline.kind", "runtime.lease"]),
  );
  const patterns = NOT_IMPLEMENTED.filter(({ asks }) => asks === undefined).map(
    ({ path }) => new RegExp(`^${path.map((part) => (part === "*" ? "[^.]+" : part)).join("\\.")}(?:\\.|$)`),
  );
  expect(patterns.length).toBeGreaterThan(10);
  expect([...read].filter((path) => patterns.some((pattern) => pattern.test(path)))).toEqual([]);
});
