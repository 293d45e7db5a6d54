/** Waiting for what was started, with a target that is played and a clock of its own. */

import { describe, expect, it, vi } from "vitest";
import type { TargetDriver } from "../../../../control/deploy/driver.ts";
import type { Inspection, ObservedNode } from "../../../../control/deploy/inspection.ts";
import type { Session } from "../../../../control/deploy/operations/session.ts";
import { reconcileAndWait, StartFailure } from "../../../../control/deploy/operations/start-watch.ts";
import { InfraError } from "../../../../runtime/contracts/errors.ts";

const node = (name: string, health: ObservedNode["health"]): ObservedNode => ({
  name,
  workload: `lab-${name}`,
  place: "here",
  state: "running",
  health,
  image: null,
  version: null,
  since: null,
  restarts: 0,
});
const inspection = (...nodes: ObservedNode[]): Inspection => ({ nodes, parts: [], drift: [] });

/** `passed`: milliseconds that the clock shows more at each call. */
function session(driver: Partial<TargetDriver>, passed: (call: number) => number = () => 1_000): Session {
  let clock = Date.UTC(2030, 0, 1);
  let call = 0;
  const services = {
    now: () => {
      clock += passed(call++);
      return new Date(clock);
    },
    sleep: async () => undefined,
  };
  const enter = async () => ({ program: "printf", args: ["last words"], close: async () => undefined });
  return {
    driver: { enter, ...driver },
    run: { signal: new AbortController().signal, services },
    log: { write: async () => null },
    redact: (text: string) => text,
    report: () => undefined,
  } as unknown as Session;
}
const watched = (...nodes: string[]) => ({ nodes, restarts: new Map<string, number>(), unchanged: false });

describe("waiting for what was started", () => {
  it.each([
    [[], []],
    [["one"], undefined],
  ])("%j: what the target is to bring to what was applied is %j", async (nodes, expected) => {
    const reconcile = vi.fn(async () => undefined);
    await reconcileAndWait(
      session({ reconcile, inspect: async () => inspection(node("one", "healthy")) }),
      watched(...nodes),
    );
    expect(reconcile).toHaveBeenCalledWith(expect.anything(), expect.anything(), undefined, expected);
  });

  it("calls nothing late because the machine slept", async () => {
    let snapshots = 0;
    const inspect = async () => inspection(node("one", ++snapshots < 4 ? "starting" : "healthy"));
    const played = session({ inspect }, (call) => (call === 2 ? 3_600_000 : 1_000));
    expect(await reconcileAndWait(played, watched("one"))).toMatchObject([{ health: "healthy" }]);
  });

  it("ends after five minutes of it, whatever the clock did before", async () => {
    let snapshots = 0;
    const inspect = async () => {
      if (++snapshots > 1_000) throw new Error("waited for too long");
      return inspection(node("one", "starting"));
    };
    const played = session({ inspect }, (call) => (call === 2 ? -3_600_000 : 1_000));
    await expect(reconcileAndWait(played, watched("one"))).rejects.toThrow("it is not ready after 300 s");
    expect(snapshots).toBeLessThan(310);
  });

  it("says that the target's disk is full where that is why nothing starts", async () => {
    const inspect = async () => inspection({ ...node("one", "unhealthy"), restarts: 3 });
    const fullDisk = async () => "The disk of Docker of this machine is full.";
    await expect(reconcileAndWait(session({ inspect, fullDisk }), watched("one"))).rejects.toMatchObject({
      code: "INFRA_DISK_FULL",
      message: expect.stringMatching(/^The disk of Docker of this machine is full\. The node one does not start/),
    });
    const roomy = session({ inspect, fullDisk: async () => null });
    await expect(reconcileAndWait(roomy, watched("one"))).rejects.toBeInstanceOf(StartFailure);
  });

  it("does not blame the full disk of another host", async () => {
    const inspect = async () =>
      inspection(
        { ...node("one", "unhealthy"), place: "ssh://first", restarts: 3 },
        { ...node("two", "healthy"), place: "ssh://full" },
      );
    const fullDisk = async (places: readonly string[]) => (places.includes("ssh://full") ? "It is full." : null);
    await expect(reconcileAndWait(session({ inspect, fullDisk }), watched("one", "two"))).rejects.toBeInstanceOf(
      StartFailure,
    );
  });

  it("gives up a target that does not answer, and waits on for one that answers again", async () => {
    const unreachable: ObservedNode = { ...node("one", "unknown"), state: "unknown" };
    let snapshots = 0;
    const never = async () =>
      ++snapshots > 1_000 ? Promise.reject(new Error("waited for too long")) : inspection(unreachable);
    await expect(reconcileAndWait(session({ inspect: never }), watched("one"))).rejects.toMatchObject({
      code: "INFRA_HOST_UNREACHABLE",
      message: "The target has not answered for 120 s.",
    });
    let probes = 0;
    const again = async () => {
      if (++probes > 200) return inspection(node("one", "healthy"));
      return inspection(probes % 100 > 0 ? unreachable : node("one", "starting"));
    };
    expect(await reconcileAndWait(session({ inspect: again }), watched("one"))).toMatchObject([{ health: "healthy" }]);
  });

  it.each([
    ["lab-node-2 does not become ready: no.", ["node-2"]],
    ["lab-node-2-0 does not become ready: no.", ["node-2"]],
    ["lab-node-0 does not become ready: no.", ["node"]],
  ])("blames the node that the target names: %s", async (message, nodes) => {
    const reconcile = () => Promise.reject(new InfraError("INFRA_FAILED", message));
    const inspect = async () => inspection(node("node", "unhealthy"), node("node-2", "unhealthy"));
    const error = await reconcileAndWait(session({ reconcile, inspect }), watched("node", "node-2")).catch(
      (failure: unknown) => failure,
    );
    expect(error).toBeInstanceOf(StartFailure);
    expect(error).toMatchObject({ message, nodes, details: { lastWords: ["last words"] } });
  });

  it("says what failed also where the target does not answer afterwards", async () => {
    const failure = new InfraError("INFRA_FAILED", "lab-one does not become ready: no.");
    const inspect = () => Promise.reject(new Error("the target does not answer"));
    const played = session({ reconcile: () => Promise.reject(failure), inspect });
    await expect(reconcileAndWait(played, watched("one"))).rejects.toBe(failure);
  });
});
