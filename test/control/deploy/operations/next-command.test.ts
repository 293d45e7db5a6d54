/** A disk that was full, or a host that went away, in the middle of a run: which command leads on, told by what the run has remaining. */

import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Engine } from "../../../../control/deploy/engine/engine.ts";
import { describeEngineFailure } from "../../../../control/deploy/engine/failure.ts";
import { PulumiFailure } from "../../../../control/deploy/engine/pulumi-cli.ts";
import { infraFiles } from "../../../../control/deploy/files.ts";
import { withNextCommand } from "../../../../control/deploy/operations/next-command.ts";
import { InfraError } from "../../../../runtime/contracts/errors.ts";

const EMPTY = { version: 3, deployment: {} };
const PENDING = {
  type: "creating",
  resource: { urn: "urn:pulumi:lab::cairn::a:b:C::lab-one", type: "a:b:C", custom: true },
};
const UNREADABLE = new InfraError("INFRA_STATE_UNREADABLE", "cut");
const own = Object.assign(new Error("write"), { code: "ENOSPC" });
const words = new PulumiFailure({ stdout: "", stderr: "no space left on device", cancelled: false });

/** What `infra up` says of it, with such a state and so many locks of an engine, and with a copy or without. */
async function said(
  remaining: { state?: object; locks?: number; copy?: boolean },
  error: unknown = own,
): Promise<unknown> {
  const files = infraFiles(await mkdtemp(join(tmpdir(), "cairn-full-")), "lab");
  await mkdir(files.copies, { recursive: true });
  if (remaining.copy)
    await writeFile(join(files.copies, "2030-01-31T12-00-00-000Z-before-up.json"), JSON.stringify(EMPTY));
  const engine = {
    state: async () => {
      if (remaining.state instanceof Error) throw remaining.state;
      return remaining.state ?? null;
    },
    locks: async () => Array.from({ length: remaining.locks ?? 0 }, () => ({})),
  } as unknown as Engine; // Only these two are asked.
  return withNextCommand({ engine, files }, "up", error);
}
/** What the engine's failure becomes where a provider said this of a target. */
function lost(message: string): Error {
  const failure = new PulumiFailure({ stdout: "", stderr: "error: update failed", cancelled: false });
  const diagnostics = [{ message, resource: "lab-one" }];
  return describeEngineFailure(failure, { stack: "lab", command: "up", redact: (text) => text, diagnostics }).error;
}
const hinting = (hint: string) => ({ code: "INFRA_DISK_FULL", details: { hint: expect.stringContaining(hint) } });

describe("a run on a disk that was full", () => {
  it("is taken up by the same command where it left nothing open", async () => {
    expect(await said({})).toMatchObject(hinting("Make room. Then run the same command again"));
    expect(await said({ state: EMPTY })).toMatchObject(hinting("Make room. Then run the same command again"));
  });

  it("is taken up by the same command as well where an operation is open", async () => {
    const open = { version: 3, deployment: { pending_operations: [PENDING] } };
    expect(await said({ state: open })).toMatchObject(hinting("Make room. Then run the same command again"));
  });

  it("gets the copy of its state back where that was cut off, and is recovered where there is none", async () => {
    expect(await said({ state: UNREADABLE, copy: true })).toMatchObject(
      hinting("`cairn infra unlock --restore-state` and `cairn infra up --adopt`:"),
    );
    expect(await said({ state: UNREADABLE })).toMatchObject(hinting("`cairn infra recover`"));
  });

  it("keeps what the engine has said, and the hint of a refusal that changed nothing", async () => {
    const details = { cause: words, log: "/logs/up.log", hint: "Make room." };
    const engines = await said({}, new InfraError("INFRA_DISK_FULL", "The disk is full.", details));
    expect(engines).toMatchObject({
      message: "The disk is full.",
      details: { log: "/logs/up.log", hint: expect.stringContaining("run the same command again") },
    });
    const refusal = new InfraError("INFRA_DISK_FULL", "A second copy needs 3 GB.", { hint: "Prune images." });
    expect(await said({}, refusal)).toBe(refusal);
    const other = new Error("something else");
    expect(await said({}, other)).toBe(other);
  });

  it("names the command after a host that went away as well, unless who was at work has said what helps", async () => {
    const unreachable = new InfraError("INFRA_HOST_UNREACHABLE", "It does not answer.", { hint: "See that it runs." });
    const hint = "See that it runs. Then run the same command again";
    expect(await said({}, unreachable)).toMatchObject({
      code: "INFRA_HOST_UNREACHABLE",
      message: "It does not answer.",
      details: { hint: expect.stringContaining(hint) },
    });
    expect(await said({}, lost("after 3 failed attempts: dial tcp: i/o timeout"))).toMatchObject({
      details: {
        hint: "See whether the host runs and can be reached. Then run the same command again: nothing that was made is lost.",
      },
    });
    const wrapped = new InfraError("INFRA_HOST_UNREACHABLE", "The switch stopped.", {
      hint: "It finishes.",
      cause: unreachable,
    });
    expect(await said({}, wrapped)).toBe(wrapped);
  });
});
