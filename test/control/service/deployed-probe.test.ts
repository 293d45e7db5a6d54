/** How long a node of a deployed stack is waited for before another one is asked: by the way to it, and not twice for one host. */

import { expect, it } from "vitest";
import { connectToStack } from "../../../control/service/deployed-node.ts";
import type { DeployedStack } from "../../../control/service/deployed-stack.ts";
import { InfraError } from "../../../runtime/contracts/errors.ts";

/** Milliseconds that the first of two nodes was given. */
async function given(target: string): Promise<number | undefined> {
  let timeout: number | undefined;
  const client = {
    ready: async ({ timeoutMs }: { readonly timeoutMs: number }) => {
      timeout = timeoutMs;
      return true;
    },
  };
  const stack = {
    record: { stack: "lab", target, deployed_at: "2026-01-31T12:00:00.000Z", nodes: [] },
    plan: { nodes: [] },
    nodes: ["one", "two"],
    members: [],
    sharesMemory: true,
    open: async () => ({ client, close: async () => undefined }),
  } as unknown as DeployedStack; // What the choice of a node reads.
  expect(await connectToStack(stack, new AbortController().signal)).toMatchObject({ node: "one" });
  return timeout;
}

it("a node on Proxmox, to which each connection starts four programs, is given longer than one that is near", async () => {
  expect(await given("docker")).toBe(3_000);
  expect(await given("proxmox")).toBe(15_000);
});

it.each([
  ["docker", ["one", "three"]],
  ["proxmox", ["one", "three"]],
  // Its place is a namespace, and what is unreachable there may be a pod.
  ["kubernetes", ["one", "two", "three"]],
])("a host that is lost is waited for once, whatever nodes it has: %s", async (target, expected) => {
  const opened: string[] = [];
  const nodes = ["one", "two", "three"];
  const record = { stack: "lab", target, nodes: nodes.map((name) => ({ name, place: name === "three" ? "b" : "a" })) };
  const open = async (name: string) => {
    opened.push(name);
    throw new InfraError("INFRA_HOST_UNREACHABLE", "It is gone.");
  };
  const stack = {
    record,
    plan: { nodes: [] },
    nodes,
    members: [],
    sharesMemory: true,
    open,
  } as unknown as DeployedStack; // As above.
  await expect(connectToStack(stack, new AbortController().signal)).rejects.toThrow("It is gone.");
  expect(opened).toEqual(expected);
});
