/** What the gate says of a node's version: nothing where no image tells which one it should be. */

import { expect, it } from "vitest";
import { gate } from "../../../control/rollout/gate.ts";
import type { Client } from "../../../runtime/client/index.ts";

/** Of a node that tells its version, and fails in all else. */
const client = new Proxy({} as Client, {
  get: (_target, name) =>
    name === "health" ? async () => ({ version: "2.0.0", agents: {} }) : () => Promise.reject(new Error("no")),
});
const said = (version: string | null): Promise<unknown> =>
  gate(client, "main", version, new AbortController().signal).catch((error: unknown) => String(error));

it("compares the version of the node with that of its image, where that is known", async () => {
  expect(await said("1.0.0")).toContain("it reports version 2.0.0, and not 1.0.0");
  for (const version of [null, "2.0.0"]) expect(await said(version)).not.toContain("version");
});
