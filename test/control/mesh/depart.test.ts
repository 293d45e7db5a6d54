/** A node leaves under its own name, also where it is in no list of members any more. */

import { expect, it } from "vitest";
import { leave } from "../../../control/mesh/depart.ts";
import type { Client } from "../../../runtime/client/index.ts";

const terminal = { inIsTerminal: false, outIsTerminal: false, errIsTerminal: false } as Parameters<
  typeof leave
>[1]["terminal"];
const signal = new AbortController().signal;

it("gives a revoked node a new identity by the name that its configuration has", async () => {
  const departure = { id: "1", name: "iris", notified: 0 };
  // What `leave` asks of a node; a revoked one is in no list of members.
  const client = {
    health: async () => ({ node: { id: "1", name: "iris" } }),
    mesh: async () => [],
    leaveMesh: async () => departure,
  } as unknown as Pick<Client, "health" | "leaveMesh">;
  const request = { force: false, signal, terminal };
  expect(await leave(client, { ...request, confirm: "iris" })).toEqual({ outcome: "left", ...departure });
  await expect(leave(client, { ...request, confirm: "nova" })).rejects.toThrow("The node is iris, not nova");
});
