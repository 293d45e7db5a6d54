/** The next step for one pod of a group: the rules one by one, and the way to the end against a controller that is played. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  fenceAnnotation,
  isOlder,
  tokenText,
} from "../../../../../../control/deploy/drivers/kubernetes/cluster/fence-token.ts";
import type { Pod, StatefulSet } from "../../../../../../control/deploy/drivers/kubernetes/cluster/objects.ts";
import { nextPodStep, podsBefore } from "../../../../../../control/deploy/drivers/kubernetes/cluster/pod-step.ts";

type Condition = "ready" | "starting" | "stuck";
interface Member {
  readonly revision: "old" | "new";
  readonly condition: Condition;
}
const TOKEN = "fleet 3 7";
const IMAGE = "2";
const old = (condition: Condition): Member => ({ revision: "old", condition });
const fresh = (condition: Condition): Member => ({ revision: "new", condition });

function pod(ordinal: number, { revision, condition }: Member): Pod {
  const image = revision === "new" ? IMAGE : "1";
  return {
    metadata: {
      name: `lab-main-${ordinal}`,
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

function workload(ordinal: number, { partition, image = IMAGE, token = TOKEN, seen = 2 }: Given): StatefulSet {
  return {
    metadata: { name: "lab-main", generation: 2, annotations: { [fenceAnnotation(ordinal)]: token } },
    spec: {
      replicas: 3,
      updateStrategy: { rollingUpdate: { partition } },
      template: {
        metadata: { annotations: { "cairn.dev/image": image } },
        spec: { containers: [{ name: "cairn", image }] },
      },
    },
    status: { observedGeneration: seen, updateRevision: "new" },
  };
}

interface Given {
  readonly partition: number;
  readonly image?: string;
  readonly token?: string;
  readonly seen?: number;
}

const step = (members: readonly (Member | null)[], ordinal: number, given: Given = { partition: members.length }) =>
  nextPodStep({
    workload: workload(ordinal, given),
    pods: members.flatMap((member, at) => (member === null ? [] : [pod(at, member)])),
    ordinal,
    image: IMAGE,
    token: TOKEN,
    partition: members.length,
  });

describe("the next step for a pod", () => {
  const all = [old("ready"), old("ready"), old("ready")];

  it("is refused where another command's token stands, or another image was applied", () => {
    expect(step(all, 2, { partition: 3, token: "fleet 4 1" })).toEqual({ do: "refuse", why: "token" });
    expect(step(all, 2, { partition: 3, image: "3" })).toEqual({ do: "refuse", why: "image" });
  });

  it("waits for the controller to see what was applied", () => {
    expect(step(all, 2, { partition: 3, seen: 1 })).toEqual({ do: "wait", pod: null, trouble: null });
  });

  it("lowers the partition to its ordinal, and no further", () => {
    expect(step(all, 2)).toEqual({ do: "partition", value: 2 });
    expect(step(all, 2, { partition: 2 })).toEqual({ do: "wait", pod: "lab-main-2", trouble: null });
    expect(step([old("ready"), old("ready"), fresh("ready")], 1)).toEqual({ do: "partition", value: 1 });
  });

  it("puts the partition back once it is ready, and then it is done", () => {
    const given = [old("ready"), old("ready"), fresh("ready")];
    expect(step(given, 2, { partition: 2 })).toEqual({ do: "partition", value: 3 });
    expect(step(given, 2)).toEqual({ do: "done" });
  });

  it("waits for one that is missing, or not ready, and says what troubles it", () => {
    expect(step([old("ready"), old("ready"), null], 2, { partition: 2 })).toMatchObject({ do: "wait", trouble: null });
    const given = [old("ready"), old("ready"), fresh("stuck")];
    expect(step(given, 2, { partition: 2 })).toMatchObject({
      do: "wait",
      trouble: expect.stringMatching(/ends again/),
    });
  });

  it("replaces one of another revision that cannot start, once the partition lets it change", () => {
    const given = [old("ready"), old("ready"), old("stuck")];
    expect(step(given, 2)).toEqual({ do: "partition", value: 2 });
    expect(step(given, 2, { partition: 2 })).toMatchObject({ do: "replace", pod: "lab-main-2" });
  });

  it("waits for one above it that is not ready, since the controller does", () => {
    const given = [old("ready"), old("stuck"), fresh("starting")];
    expect(step(given, 1, { partition: 1 })).toMatchObject({ do: "wait", pod: "lab-main-2" });
  });

  it("names those that the controller would change before it, in its order", () => {
    const pods = all.map((member, ordinal) => pod(ordinal, member));
    const of = (ordinal: number) => podsBefore({ workload: workload(ordinal, { partition: 3 }), pods }, ordinal);
    expect([of(2), of(1), of(0)]).toEqual([[], ["lab-main-2"], ["lab-main-2", "lab-main-1"]]);
    expect(podsBefore({ workload: workload(0, { partition: 3, seen: 1 }), pods }, 0)).toBeNull();
  });
});

describe("pod after pod, with a controller that does what Kubernetes does", () => {
  it("changes each alone, in the controller's order, and leaves the partition where it was", () => {
    const member = fc.constantFrom(old("ready"), old("stuck"), fresh("ready"));
    fc.assert(
      fc.property(fc.array(member, { minLength: 1, maxLength: 5 }), (given) => {
        let members: Member[] = given;
        let partition = members.length;
        for (let ordinal = members.length - 1; ordinal >= 0; ordinal--) {
          for (let round = 0; ; round++) {
            expect(round).toBeLessThan(10);
            const next = step(members, ordinal, { partition });
            if (next.do === "done") break;
            if (next.do === "partition") partition = next.value;
            if (next.do === "replace") members = members.with(Number(next.pod.at(-1)), fresh("ready"));
            if (next.do !== "wait") continue;
            const at = members.findLastIndex((each, index) => each.revision === "old" && index >= partition);
            // Of those that the partition frees, this pod is the only one that changes.
            expect(at).toBe(ordinal);
            members = members.with(at, fresh("ready"));
          }
          expect(partition).toBe(members.length);
          expect(members[ordinal]).toEqual(fresh("ready"));
          expect(members.slice(0, ordinal)).toEqual(given.slice(0, ordinal));
        }
      }),
    );
  });
});

describe("a token", () => {
  const token = { fleet: "a", lease: 3, command: 7 };
  it.each([
    ["", false],
    ["a 3 7", false],
    ["a 3 6", false],
    ["a 2 99", false],
    ["a 3 8", true],
    ["a 4 1", true],
    ["another 9 9", false],
  ])("is older than %j: %s", (seen, older) => expect(isOlder(token, seen)).toBe(older));

  it("is written as it is read", () => expect(isOlder({ ...token, command: 6 }, tokenText(token))).toBe(true));
});
