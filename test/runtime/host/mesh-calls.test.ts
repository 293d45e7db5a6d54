/** The request to join, sent to an address where another node answers than the one that made the token. */

import { expect, it } from "vitest";
import { certificatePin } from "../../../runtime/contracts/certificates.ts";
import { RuntimeError } from "../../../runtime/contracts/errors.ts";
import { createMeshCalls } from "../../../runtime/host/mesh-calls.ts";
import { type Identity, identity, tlsNode } from "../../support/certificates.ts";
import { freePort } from "../../support/ports.ts";

const calls = createMeshCalls({
  to() {
    throw new Error("no peer is called");
  },
});
const never = new AbortController().signal;

async function refusal(shown: Identity, named: Identity): Promise<RuntimeError> {
  const node = await tlsNode(shown);
  const pins = [certificatePin(named.cert) ?? ""];
  const error = await calls.join(node.url, pins, { token: "cairn-join-x", entry: {} }, never).catch((reason) => reason);
  if (!(error instanceof RuntimeError)) throw error;
  return error;
}

it("is not sent, and what is said is about the token and the address", async () => {
  const error = await refusal(await identity(), await identity());
  expect(error.code).toBe("RUNTIME_CERTIFICATE_REFUSED");
  expect(error.message).toContain("Not the node that made the token answers at https://127.0.0.1:");
  expect(error.details.hint).toContain("`cairn mesh token` there");
});

it("says of that node's own certificate that it has expired", async () => {
  const own = await identity({ from: -3, to: -1 });
  expect((await refusal(own, own)).message).toContain("expired");
});

it("says of an address where nothing listens what to look at there, and not how to start this node", async () => {
  const pins = [certificatePin((await identity()).cert) ?? ""];
  const body = { token: "cairn-join-x", entry: {} };
  const error: unknown = await calls
    .join(`https://127.0.0.1:${await freePort()}`, pins, body, never)
    .catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: "RUNTIME_NOT_RUNNING" });
  expect(error).toHaveProperty("details.hint", expect.stringContaining("`cairn status` there"));
});
