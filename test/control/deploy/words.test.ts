import { describe, expect, it } from "vitest";
import { diffText } from "../../../control/deploy/diff-words.ts";
import type { FoundDrift, StatusResult } from "../../../control/deploy/schemas.ts";
import { previewText, statusText } from "../../../control/deploy/words.ts";
import type { Mark } from "../../../control/output/terminal.ts";

const same = (text: string): string => text;
const mark: Mark = { title: same, name: same, good: same, warn: same, error: same, dim: same };
const gone: FoundDrift = {
  kind: "missing",
  name: "lab-a",
  place: "local",
  node: "a",
  message: "The container lab-a is gone.",
  remedy: "It is made anew.",
  data_lost: false,
};
const diff = (drift: FoundDrift[]) => ({
  schema: 1 as const,
  stack: "lab",
  target: "docker",
  summary: { create: 0, update: 0, replace: 0, delete: 0, import: 0, same: 3 },
  changes: [],
  drift,
  settings: [],
});

describe("what was changed by hand", () => {
  it("is said with what becomes of it, before what changes", () => {
    expect(diffText(diff([gone]), mark).split("\n")).toEqual([
      "! The container lab-a is gone. It is made anew.",
      "No changes, 3 unchanged.",
    ]);
  });

  it("names the way to data that vanished with it", () => {
    const [, line] = diffText(diff([{ ...gone, data_lost: true }]), mark).split("\n");
    expect(line).toContain("`cairn memory restore FILE`");
    expect(diffText(diff([gone]), mark)).not.toContain("restore");
  });

  it("is applied with up, also where nothing of the configuration has changed", () => {
    expect(previewText({ ...diff([gone]), warnings: [] }, mark)).toContain("`cairn infra up`");
    expect(previewText({ ...diff([]), warnings: [] }, mark)).not.toContain("`cairn infra up`");
  });
});

it("a preview of what up would refuse names the command that does it", () => {
  const change = {
    op: "replace" as const,
    type: "docker:index/container:Container",
    name: "lab-a",
    urn: "u",
    properties: [],
  };
  const hint = "Take one node after the other, each tested: `cairn infra up --roll`.";
  const refusal = {
    severity: "warning" as const,
    code: "INFRA_UP_REFUSED",
    message: "This would stop 2 running nodes.",
    hint,
  };
  const text = previewText({ ...diff([]), changes: [change], warnings: [refusal] }, mark);
  expect(text.split("\n").at(-1)).toBe(`\`up\` refuses it: This would stop 2 running nodes. ${hint}`);
  expect(text).not.toContain("Apply with");
});

describe("settings that change", () => {
  const settings = [
    { nodes: ["a", "b"], setting: "agents.main.model", before: "one", after: "two" },
    { nodes: ["a"], setting: ".env: KEY", before: "****", after: null },
  ];

  it("stand before the resources, with the nodes that get them", () => {
    expect(diffText({ ...diff([]), settings }, mark).split("\n")).toEqual([
      "~ agents.main.model: one -> two (a, b)",
      "~ .env: KEY: **** -> none (a)",
      "No changes, 3 unchanged.",
    ]);
  });

  it("take the place of the sealed files that carry them", () => {
    const sealed = { "4dabf18": "1b4706" };
    const properties = [
      { path: "uploads[0].content", kind: "update" as const, before: sealed, after: sealed },
      { path: "uploads[1].content", kind: "update" as const, before: sealed, after: sealed },
      { path: "memory", kind: "update" as const, before: 512, after: 600 },
    ];
    const change = {
      op: "replace" as const,
      type: "docker:index/container:Container",
      name: "lab-a.files",
      urn: "u",
      properties,
    };
    const text = diffText({ ...diff([]), changes: [change], settings }, mark);
    expect(text).toContain("    memory: 512 -> 600\n    files: as deployed -> as planned\n");
    expect(text).not.toMatch(/4dabf18|uploads/);
  });
});

const node = {
  name: "a",
  workload: "lab-a",
  place: "lab",
  image: `sha256:${"1".repeat(64)}`,
  url: null,
  certificate_sha256: null,
  next_certificate_sha256: null,
  planned_image: null,
  version: "0.1.0",
  since: "2026-01-31T12:00:00.000Z",
  restarts: 3,
};
const status: StatusResult = {
  schema: 1,
  stack: "lab",
  target: "kubernetes",
  deployed: true,
  deployed_at: null,
  backend: "file:///lab",
  healthy: false,
  nodes: [
    { ...node, state: "stopped", health: "unhealthy", reason: "its image cannot be pulled" },
    { ...node, name: "b", state: "running", health: "healthy", reason: null },
  ],
  parts: [
    {
      kind: "network",
      name: "lab",
      place: "local",
      node: null,
      state: "missing",
      health: null,
      image: null,
      version: null,
      since: null,
      restarts: null,
      reason: "The network lab is gone.",
    },
  ],
  data: [],
  holder: null,
  working: false,
  pending: 0,
  copies: 0,
  former: [],
};
const holder = { user: "me", host: "here", pid: 7, command: "up", started_at: "2026-01-31T12:00:00.000Z" };

describe("the state of a stack", () => {
  it("says why a part is not healthy, where the target knows", () => {
    const lines = statusText(status, mark).split("\n");
    expect(lines).toContain("  a: its image cannot be pulled");
    expect(lines).toContain("  lab: The network lab is gone.");
    expect(lines.filter((line) => line.startsWith("  b: "))).toEqual([]);
  });

  it("has each part with its version, since when it runs, and how often it was started again", () => {
    const [, , b] = statusText(status, mark).split("\n");
    expect(b).toMatch(/b +healthy +0\.1\.0 +since 2026-01-31 12:00 UTC, 3 restarts +lab +sha256:111111111111$/);
    expect(statusText(status, mark)).toMatch(/network lab +missing/);
    const image = `cairn-image:${"2".repeat(64)}`;
    const onProxmox = { ...status, nodes: status.nodes.map((one) => ({ ...one, image })) };
    expect(statusText(onProxmox, mark)).toMatch(/ cairn-image:222222222222$/m);
  });

  it("names preview where something is to be brought back", () => {
    expect(statusText(status, mark)).toContain("`cairn infra preview`");
    expect(statusText({ ...status, healthy: true }, mark)).not.toContain("`cairn infra preview`");
  });

  it("advises unlock for what was interrupted, and not while a run is at work", () => {
    expect(statusText({ ...status, holder, pending: 2, working: true }, mark)).not.toContain("unlock");
    expect(statusText({ ...status, holder, pending: 2, working: true }, mark)).toContain("At work: me@here");
    expect(statusText({ ...status, holder, working: false }, mark)).toContain("`cairn infra unlock`");
    expect(statusText({ ...status, pending: 2 }, mark)).toContain("`cairn infra unlock`");
  });
});
