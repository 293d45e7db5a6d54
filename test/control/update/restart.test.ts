import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { keeperOf } from "../../../control/update/restart.ts";
import { temporaryDirectory } from "../../support/deployment.ts";

const OURS = "# Written by `cairn service install`\n[Service]\n";

/** A machine on which process 42 belongs to a control group, and some units are installed. */
async function machine(cgroup: string, units: Readonly<Record<string, string>>) {
  const root = await temporaryDirectory();
  const roots = { proc: join(root, "proc"), etc: join(root, "etc"), userUnits: join(root, "config/systemd/user") };
  await mkdir(join(roots.proc, "42"), { recursive: true });
  await writeFile(join(roots.proc, "42", "cgroup"), cgroup);
  for (const [path, text] of Object.entries(units)) {
    await mkdir(join(root, path, ".."), { recursive: true });
    await writeFile(join(root, path), text);
  }
  return keeperOf(42, roots);
}

describe("what keeps a node running", () => {
  it("is the unit that service install wrote, of the machine or of a user", async () => {
    expect(await machine("0::/system.slice/cairn.service", { "etc/systemd/system/cairn.service": OURS })).toEqual({
      kind: "systemd",
      unit: "cairn.service",
      scope: "system",
    });
    const group = "0::/user.slice/user-1.slice/user@1.service/app.slice/cairn-two.service";
    expect(await machine(group, { "config/systemd/user/cairn-two.service": OURS })).toEqual({
      kind: "systemd",
      unit: "cairn-two.service",
      scope: "user",
    });
  });

  it.each([
    ["a session", "0::/user.slice/user-1.slice/session-3.scope", {}],
    [
      "a service of somebody else, in which it was started",
      "0::/system.slice/cron.service",
      { "etc/systemd/system/cron.service": "[Service]\n" },
    ],
    ["a machine that does not say", "", {}],
  ])("is nobody but itself in %s", async (_name, cgroup, units) => {
    expect(await machine(cgroup, units)).toEqual({ kind: "own" });
  });
});
