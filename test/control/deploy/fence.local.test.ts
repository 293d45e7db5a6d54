/** The script that compares a rollout's tokens on a host, by a real shell. */

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { expect, it } from "vitest";
import { fencedCommand, throwIfFenced } from "../../../control/deploy/fence.ts";
import { temporaryDirectory } from "../../support/deployment.ts";

const NODE = { stack: "lab", node: "one" };
const tokenOf = (lease: number, command: number, fleet = "fleet") => ({ fleet, lease, command });

async function host() {
  const home = await temporaryDirectory();
  const send = async (token: ReturnType<typeof tokenOf>, command: readonly string[], node = NODE) => {
    const [program = "", ...args] = fencedCommand({ ...node, token }, command);
    const { stdout } = await execa(program, args, { env: { HOME: home, XDG_STATE_HOME: "" }, stdin: "ignore" });
    throwIfFenced(stdout, node);
  };
  const said = (token: ReturnType<typeof tokenOf>, node = NODE) =>
    send(token, ["mktemp", join(home, "done.XXXXXX")], node);
  return { home, send, said };
}

const done = (home: string) => readdirSync(home).filter((name) => name.startsWith("done")).length;

it("a host carries out each token that is not older than the newest it has seen, and refuses the others", async () => {
  const { home, said } = await host();
  await said(tokenOf(2, 5));
  await said(tokenOf(2, 5));
  await said(tokenOf(2, 6));
  await expect(said(tokenOf(2, 5))).rejects.toMatchObject({ code: "INFRA_LOCKED" });
  await expect(said(tokenOf(1, 99))).rejects.toMatchObject({ code: "INFRA_LOCKED" });
  await said(tokenOf(3, 1));
  await said(tokenOf(10, 1));
  await expect(said(tokenOf(9, 100))).rejects.toMatchObject({ code: "INFRA_LOCKED" });
  expect(done(home)).toBe(5);
});

it("nodes have a number each, and a fleet that was set up anew begins to count again", async () => {
  const { home, said } = await host();
  await said(tokenOf(7, 1));
  await said(tokenOf(1, 1), { stack: "lab", node: "two" });
  await said(tokenOf(1, 1, "another-fleet"));
  expect(done(home)).toBe(3);
});

it("a command that is under way is waited for, and its own failure is told", async () => {
  const { home, send, said } = await host();
  const first = send(tokenOf(1, 1), ["sh", "-c", `sleep 1; mktemp ${home}/done.XXXXXX`]);
  await expect.poll(() => readdirSync(home).length).toBeGreaterThan(0);
  await expect.poll(() => readdirSync(join(home, ".local/state/cairn/fences")).includes("lab.one")).toBe(true);
  await send(tokenOf(2, 1), ["sh", "-c", `test "$(ls ${home} | grep -c done)" = 1`]);
  await first;
  await expect(send(tokenOf(2, 2), ["false"])).rejects.toThrow();
  // It was seen all the same.
  await expect(said(tokenOf(2, 1))).rejects.toMatchObject({ code: "INFRA_LOCKED" });
});
