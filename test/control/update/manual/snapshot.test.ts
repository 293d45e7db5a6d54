/** What a look at the machines of a fleet says where they are not as they have to be. */

import { expect, it } from "vitest";
import { snapshotAll } from "../../../../control/update/manual/fleet.ts";
import { manualNode } from "../../../../control/update/manual/node.ts";
import { InfraError } from "../../../../runtime/contracts/errors.ts";

const { signal } = new AbortController();

function node(name: string, error: InfraError) {
  const host = {
    label: name,
    run: () => Promise.reject(error),
    reach: () => Promise.reject(error),
    close: () => Promise.resolve(),
  };
  const around = { stack: "cairn", unitName: "cairn", sleep: async () => {}, monotonic: () => 0, report: () => {} };
  return manualNode({ ...around, name, host });
}

const one = node("one", new InfraError("INFRA_UP_REFUSED", "this machine: there is no unit cairn."));
const two = node("two", new InfraError("INFRA_HOST_UNREACHABLE", "10.0.0.2 does not answer."));

it("rejects with the first, and says how a unit that is missing is written", async () => {
  const error = await snapshotAll([one, two], signal).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ message: "this machine: there is no unit cairn." });
  expect(error).toHaveProperty("details.hint", expect.stringContaining("`cairn service install` there"));
});

it("goes on to the next machine where the first is excused", async () => {
  const said: string[] = [];
  const seen = await snapshotAll([one, two], signal, (name, error) => {
    said.push(`${name}: ${error instanceof Error ? error.message : ""}`);
    return true;
  });
  expect(seen).toEqual([]);
  expect(said).toEqual(["one: this machine: there is no unit cairn.", "two: 10.0.0.2 does not answer."]);
});
