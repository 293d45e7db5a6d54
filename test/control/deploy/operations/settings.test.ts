import { expect, it } from "vitest";
import { changesOfNode } from "../../../../control/deploy/operations/settings.ts";
import type { DeploymentPlan, NodePlan } from "../../../../infra/plan/types.ts";

const NO_LIMITS = { memoryBytes: null, cpus: null };

function nodeWith(
  yaml: string,
  more: Readonly<Record<string, string>> = {},
  variables: readonly string[] = [],
): NodePlan {
  const files = Object.entries({ "/etc/cairn/cairn.yaml": yaml, ...more }).map(([path, content]) => ({
    path,
    content,
  }));
  return { name: "nova", files, secretVariables: variables, limits: NO_LIMITS } as unknown as NodePlan;
}

const deployed = (node: NodePlan, variables: Readonly<Record<string, string>> = {}) => ({
  plan: { nodes: [node] } as unknown as DeploymentPlan,
  variables,
});

it("names the keys of cairn.yaml that change, with what was and what will be", () => {
  const before = nodeWith("agents: { main: { model: a, tools: { include: [shell] } } }\nruntime: { timezone: UTC }\n");
  const after = nodeWith("agents: { main: { model: b, tools: { include: [shell, web] } }, two: {} }\n");
  expect(changesOfNode(deployed(before), after, {})).toEqual([
    { nodes: ["nova"], setting: "agents.main.model", before: "a", after: "b" },
    { nodes: ["nova"], setting: "agents.main.tools.include", before: '["shell"]', after: '["shell","web"]' },
    { nodes: ["nova"], setting: "agents.two", before: null, after: "{}" },
    { nodes: ["nova"], setting: "runtime.timezone", before: "UTC", after: null },
  ]);
});

it("names the limits of its container", () => {
  const node = nodeWith("version: 1\n");
  const before = { ...node, limits: { memoryBytes: 512 * 1024 ** 2, cpus: null } };
  const after = { ...node, limits: { memoryBytes: 20 * 1024 ** 2, cpus: 1.5 } };
  expect(changesOfNode(deployed(before), after, {})).toEqual([
    { nodes: ["nova"], setting: "deployment.nodes[].memory", before: "512Mi", after: "20Mi" },
    { nodes: ["nova"], setting: "deployment.nodes[].cpus", before: null, after: "1.5" },
  ]);
});

it("names variables and never shows them", () => {
  const before = nodeWith("version: 1\n", {}, ["GONE", "KEPT", "KEY"]);
  const after = nodeWith("version: 1\n", {}, ["KEPT", "KEY", "NEW"]);
  const changes = changesOfNode(deployed(before, { GONE: "secret-a", KEPT: "secret-b", KEY: "secret-c" }), after, {
    KEPT: "secret-b",
    KEY: "secret-d",
    NEW: "secret-e",
    ELSEWHERE: "secret-f",
  });
  expect(changes).toEqual([
    { nodes: ["nova"], setting: ".env: GONE", before: "****", after: null },
    { nodes: ["nova"], setting: ".env: KEY", before: "****", after: "****" },
    { nodes: ["nova"], setting: ".env: NEW", before: null, after: "****" },
  ]);
  expect(JSON.stringify(changes)).not.toContain("secret-");
});

it("names the files of the workspace that come, go and change", () => {
  const before = nodeWith("version: 1\n", {
    "/etc/cairn/seed/workspace/a.md": "one\n",
    "/etc/cairn/seed/workspace/b.md": "x",
  });
  const after = nodeWith("version: 1\n", {
    "/etc/cairn/seed/workspace/a.md": "one\ntwo\n",
    "/etc/cairn/seed/workspace/c.md": "y",
  });
  expect(changesOfNode(deployed(before), after, {})).toEqual([
    { nodes: ["nova"], setting: "workspace/a.md", before: "2 lines", after: "3 lines" },
    { nodes: ["nova"], setting: "workspace/b.md", before: "present", after: null },
    { nodes: ["nova"], setting: "workspace/c.md", before: null, after: "present" },
  ]);
});

it("says nothing where nothing changes but the layout", () => {
  const before = nodeWith("a: { b: 1, c: [1, 2] } # a comment\n");
  expect(changesOfNode(deployed(before), nodeWith("a:\n  c: [ 1, 2 ]\n  b: 1\n"), {})).toEqual([]);
});
