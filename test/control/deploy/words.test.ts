import { describe, expect, it } from "vitest";
import type { Change, RefreshResult, StatusResult } from "../../../control/deploy/schemas.ts";
import { refreshText, statusText } from "../../../control/deploy/words.ts";
import type { Mark } from "../../../control/output/terminal.ts";

const same = (text: string): string => text;
const mark: Mark = { title: same, name: same, good: same, warn: same, error: same, dim: same };
const service: Change = {
  op: "update",
  type: "kubernetes:core/v1:Service",
  name: "lab-a",
  urn: "urn:pulumi:lab::cairn::kubernetes:core/v1:Service::lab-a",
  properties: [{ path: "spec.type", kind: "update", before: "ClusterIP", after: "NodePort" }],
};
const found = (parts: Partial<RefreshResult>): RefreshResult => ({
  schema: 1,
  stack: "lab",
  target: "kubernetes",
  summary: { create: 0, update: 0, replace: 0, delete: 0, import: 0, same: 3 },
  changes: [],
  applied: false,
  drift: [],
  ...parts,
});

describe("what drift leads to", () => {
  it("is nothing where there is none", () => {
    expect(refreshText(found({}), mark)).toBe("What is there is what was recorded.");
  });

  // The engine compares with what it has recorded: an `up` alone takes the edited object for the one that it made.
  it("is a refresh before the next up, where the engine found it", () => {
    expect(refreshText(found({ changes: [service] }), mark)).toMatch(
      /`cairn infra refresh`.*`cairn infra up` after that/,
    );
  });

  it("is an up, where the target's own inspection found it", () => {
    const drift = [{ resource: "lab-a-ct", setting: "memory", expected: "2048", observed: "512" }];
    expect(refreshText(found({ drift }), mark).split("\n")).toEqual([
      expect.any(String),
      "~ drift lab-a-ct memory: 2048 -> 512",
      "`cairn infra up` brings back what the configuration says.",
    ]);
  });

  it("is told as recorded once it is", () => {
    expect(refreshText(found({ changes: [service], applied: true }), mark)).toContain("Recorded as it is.");
  });
});

describe("the state of a stack", () => {
  it("says why a node is not healthy, where the target knows", () => {
    const node = {
      name: "a",
      workload: "lab-a",
      place: "lab",
      image: "cairn:9",
      url: null,
      certificate_sha256: null,
      planned_image: null,
    };
    const status: StatusResult = {
      schema: 1,
      stack: "lab",
      target: "kubernetes",
      deployed: true,
      deployed_at: null,
      backend: "file:///lab",
      nodes: [
        { ...node, state: "stopped", health: "unhealthy", reason: "its image cannot be pulled" },
        { ...node, name: "b", state: "running", health: "healthy", reason: null },
      ],
      data: [],
      holder: null,
      pending: 0,
      copies: 0,
    };
    const lines = statusText(status, mark).split("\n");
    expect(lines).toContain("  a: its image cannot be pulled");
    expect(lines.filter((line) => line.startsWith("  b: "))).toEqual([]);
  });
});
