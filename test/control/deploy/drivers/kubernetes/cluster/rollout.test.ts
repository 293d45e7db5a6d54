/** The next step of a rollout: the rules one by one, and the way to the end against a controller that is played. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Pod, StatefulSet } from "../../../../../../control/deploy/drivers/kubernetes/cluster/objects.ts";
import { podHealth } from "../../../../../../control/deploy/drivers/kubernetes/cluster/pod-health.ts";
import { nextStep } from "../../../../../../control/deploy/drivers/kubernetes/cluster/rollout.ts";

type Condition = "ready" | "starting" | "stuck";
interface Member {
  readonly revision: "old" | "new";
  readonly image: string;
  readonly condition: Condition;
}

function pod(ordinal: number, { revision, image, condition }: Member): Pod {
  return {
    metadata: {
      name: `cairn-main-${ordinal}`,
      labels: { "controller-revision-hash": revision },
      annotations: { "cairn.dev/image": image },
    },
    spec: { containers: [{ name: "cairn", image }] },
    status: {
      phase: "Running",
      conditions: [{ type: "Ready", status: condition === "ready" ? "True" : "False" }],
      containerStatuses: [
        { name: "cairn", state: condition === "stuck" ? { waiting: { reason: "CrashLoopBackOff" } } : {} },
      ],
    },
  };
}

function workload(replicas: number, image: string, partition: number): StatefulSet {
  return {
    metadata: { name: "cairn-main", generation: 2 },
    spec: {
      replicas,
      updateStrategy: { rollingUpdate: { partition } },
      template: {
        metadata: { annotations: { "cairn.dev/image": image } },
        spec: { containers: [{ name: "cairn", image }] },
      },
    },
    status: { observedGeneration: 2, updateRevision: "new" },
  };
}

const step = (members: readonly Member[], image: string, now = members.length, released = false) =>
  nextStep({
    workload: workload(members.length, image, now),
    pods: members.map((member, ordinal) => pod(ordinal, member)),
    partition: members.length,
    released,
  });
const old = (condition: Condition, image = "1"): Member => ({ revision: "old", image, condition });
const fresh = (condition: Condition, image = "1"): Member => ({ revision: "new", image, condition });

describe("the next step", () => {
  it("waits for the controller to see what was applied", () => {
    const unseen = { ...workload(1, "1", 1), status: { observedGeneration: 1, updateRevision: "new" } };
    expect(nextStep({ workload: unseen, pods: [pod(0, fresh("ready"))], partition: 1, released: false })).toMatchObject(
      { do: "wait" },
    );
  });

  it("is none where all pods have what was applied and are ready", () => {
    expect(step([fresh("ready"), fresh("ready")], "1")).toEqual({ do: "done", held: [] });
  });

  it("lowers the partition for a changed configuration, and waits while the controller works", () => {
    expect(step([old("ready"), old("ready")], "1")).toMatchObject({ do: "partition", value: 0 });
    expect(step([old("ready"), old("ready")], "1", 0)).toMatchObject({ do: "wait", trouble: null });
  });

  it("puts a lowered partition back at the end", () => {
    expect(step([fresh("ready"), fresh("ready")], "1", 0)).toMatchObject({ do: "partition", value: 2 });
  });

  it("leaves pods that work with another image, and says so", () => {
    expect(step([old("ready"), old("ready")], "2")).toEqual({ do: "done", held: ["cairn-main-1", "cairn-main-0"] });
  });

  it("gives pods that work another image in a run for their node, one at a time, and puts the partition back", () => {
    const before = [old("ready"), old("ready")];
    expect(step(before, "2", 2, true)).toMatchObject({ do: "partition", value: 0 });
    expect(step(before, "2", 0, true)).toMatchObject({ do: "wait", trouble: null });
    expect(step([old("ready"), fresh("stuck", "2")], "2", 0, true)).toMatchObject({ do: "wait", pod: "cairn-main-1" });
    expect(step([fresh("ready", "2"), fresh("ready", "2")], "2", 0, true)).toMatchObject({ do: "partition", value: 2 });
    expect(step([fresh("ready", "2"), fresh("ready", "2")], "2", 2, true)).toEqual({ do: "done", held: [] });
  });

  it("replaces a pod of the old revision that cannot start", () => {
    expect(step([old("stuck")], "2")).toMatchObject({ do: "partition", value: 0 });
    expect(step([old("stuck")], "2", 0)).toMatchObject({ do: "replace", pod: "cairn-main-0" });
  });

  it("touches no working pod with another image to reach a broken one below it", () => {
    const given = step([old("stuck"), old("ready")], "2");
    expect(given).toMatchObject({ do: "wait", pod: "cairn-main-0", trouble: expect.any(String) });
  });

  it("reaches a broken pod above working ones with another image", () => {
    expect(step([old("ready"), old("stuck")], "2")).toMatchObject({ do: "partition", value: 1 });
    expect(step([old("ready"), old("stuck")], "2", 1)).toMatchObject({ do: "replace", pod: "cairn-main-1" });
  });

  it("touches nothing more while a new pod is not ready", () => {
    const given = step([old("ready"), fresh("stuck")], "1", 0);
    expect(given).toMatchObject({ do: "wait", pod: "cairn-main-1", trouble: expect.stringContaining("ends again") });
  });

  it("waits for pods that are missing", () => {
    const one = { workload: workload(2, "1", 2), pods: [pod(0, fresh("ready"))], partition: 2, released: false };
    expect(nextStep(one)).toEqual({ do: "wait", pod: null, trouble: null });
  });
});

describe("step after step, with a controller that does what Kubernetes does", () => {
  const member = fc.record({
    revision: fc.constantFrom("old" as const, "new" as const),
    image: fc.constantFrom("1", "2"),
    condition: fc.constantFrom("ready" as const, "stuck" as const),
  });

  it("it comes to an end, and no working pod gets another image unless it is released", () => {
    const members = fc.array(member, { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(members, fc.constantFrom("1", "2"), fc.boolean(), (given, image, released) => {
        // A pod of the new revision has the new image, and here it always works.
        let members: Member[] = given.map((each) => (each.revision === "new" ? fresh("ready", image) : each));
        const first = members;
        let partition = members.length;
        for (let round = 0; round < 60; round += 1) {
          const next = step(members, image, partition, released);
          if (next.do === "done" || (next.do === "wait" && next.trouble !== null)) {
            for (const [ordinal, before] of first.entries()) {
              const works = before.condition === "ready" && before.revision === "old";
              if (works && before.image !== image && !released) expect(members[ordinal]).toBe(before);
            }
            if (released) expect(members.every(({ revision }) => revision === "new")).toBe(true);
            if (next.do === "done") {
              expect(partition).toBe(members.length);
              expect(members.every(({ condition }) => condition === "ready")).toBe(true);
            }
            return;
          }
          if (next.do === "partition") partition = next.value;
          if (next.do === "replace") {
            const at = Number(next.pod.split("-").at(-1));
            expect(members[at]?.condition).toBe("stuck");
            expect(at).toBeGreaterThanOrEqual(partition);
            members = members.with(at, fresh("ready", image));
          }
          // The controller: one pod, the highest that is outdated and free, and only while none is unwell.
          if (next.do === "wait" && members.every(({ condition }) => condition === "ready")) {
            const at = members.findLastIndex((each, ordinal) => each.revision === "old" && ordinal >= partition);
            if (at >= 0) members = members.with(at, fresh("ready", image));
          }
        }
        throw new Error("It does not come to an end.");
      }),
      { numRuns: 1000 },
    );
  });
});

describe("a pod's health", () => {
  const waiting = (reason: string, message = "") => ({
    ...pod(0, fresh("starting")),
    status: {
      phase: "Pending",
      containerStatuses: [
        {
          name: "cairn",
          state: { waiting: { reason, message } },
          lastState: { terminated: { exitCode: 137, reason: "OOMKilled" } },
        },
      ],
    },
  });

  it.each([
    ["ImagePullBackOff", /image cannot be pulled/],
    ["CreateContainerConfigError", /configuration cannot be mounted/],
    ["CrashLoopBackOff", /more memory than its limit: deployment\.nodes\[\]\.memory or /],
  ])("%s is told in words", (reason, words) => expect(podHealth(waiting(reason)).trouble).toMatch(words));

  it.each([
    [0, false],
    [1, true],
  ])("after %i restarts and one more end is final: %s", (restartCount, crashes) => {
    const one = pod(0, fresh("stuck"));
    const containerStatuses = one.status?.containerStatuses?.map((status) => ({ ...status, restartCount }));
    expect(podHealth({ ...one, status: { ...one.status, containerStatuses } }).crashes).toBe(crashes);
  });

  it("is no trouble while it starts", () => {
    expect(podHealth(waiting("ContainerCreating"))).toEqual({
      ready: false,
      running: false,
      trouble: null,
      crashes: false,
    });
  });

  it("counts a pod that is ending as neither ready nor running", () => {
    const ending = pod(0, fresh("ready"));
    const metadata = { ...ending.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" };
    expect(podHealth({ ...ending, metadata })).toEqual({ ready: false, running: false, trouble: null, crashes: false });
  });

  it("says that no machine takes it, and why", () => {
    const unscheduled = {
      type: "PodScheduled",
      status: "False",
      reason: "Unschedulable",
      message: "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims.",
    };
    const given = { ...pod(0, fresh("starting")), status: { phase: "Pending", conditions: [unscheduled] } };
    expect(podHealth(given).trouble).toContain("unbound immediate PersistentVolumeClaims");
  });
});
