/** Which settings of its nodes a run would change, in the words of cairn.yaml: the engine knows files alone. */

import { quantityText } from "../../../infra/components/kubernetes/quantity.ts";
import { CONTAINER, type DeploymentPlan, type NodePlan, type ResourceLimits } from "../../../infra/plan/types.ts";
import { parseYaml } from "../../../runtime/config/yaml-source.ts";
import type { InfraFiles } from "../files.ts";
import type { SettingChange } from "../schemas.ts";
import { type NodePlanCopy, readNodePlan } from "../state/node-plans.ts";

/** Variables of `.env` are compared and never shown. */
const MASKED = "****";
const CONFIGURATION = `${CONTAINER.configuration}/cairn.yaml`;

interface Wanted {
  readonly plan: DeploymentPlan;
  readonly secrets: { readonly variables: Readonly<Record<string, string>> };
}

/**
 * Against what each node was given when it was last seen healthy, in the order of the nodes; nothing of a node that was never
 * deployed, all of whose settings are new. A change that several nodes get in the same way comes once, with all of their names.
 */
export async function settingChanges(files: InfraFiles, { plan, secrets }: Wanted): Promise<readonly SettingChange[]> {
  const all = await Promise.all(
    plan.nodes.map(async (node) => {
      const before = await readNodePlan(files, node.name);
      return before === null ? [] : changesOfNode(before, node, secrets.variables);
    }),
  );
  const merged = new Map<string, SettingChange>();
  for (const change of all.flat()) {
    const key = JSON.stringify([change.setting, change.before, change.after]);
    const same = merged.get(key);
    merged.set(key, same === undefined ? change : { ...same, nodes: [...same.nodes, ...change.nodes] });
  }
  return [...merged.values()];
}

/** Pure. Limits and keys of cairn.yaml first, then variables, then other files. */
export function changesOfNode(
  before: Pick<NodePlanCopy, "plan" | "variables">,
  after: NodePlan,
  variables: Readonly<Record<string, string>>,
): readonly SettingChange[] {
  const [old] = before.plan.nodes;
  if (old === undefined) return [];
  const nodes = [after.name];
  const [was, will] = [contentsOf(old), contentsOf(after)];
  const keys = leafChanges(leavesOf(was.get(CONFIGURATION)), leavesOf(will.get(CONFIGURATION)));
  const now = Object.fromEntries(after.secretVariables.map((name) => [name, variables[name]]));
  const names = [...new Set([...Object.keys(before.variables), ...after.secretVariables])].sort();
  const changed = names.filter((name) => before.variables[name] !== now[name]);
  const paths = [...new Set([...was.keys(), ...will.keys()])].filter((path) => path !== CONFIGURATION).sort();
  const mask = (value: string | undefined): string | null => (value === undefined ? null : MASKED);
  const there = (value: string | undefined, other: string | undefined): string | null =>
    value === undefined ? null : other === undefined ? "present" : `${value.split("\n").length} lines`;
  return [
    ...limitChanges(old.limits, after.limits).map((change) => ({ nodes, ...change })),
    ...keys.map((change) => ({ nodes, ...change })),
    ...changed.map((name) => ({
      nodes,
      setting: `.env: ${name}`,
      before: mask(before.variables[name]),
      after: mask(now[name]),
    })),
    ...paths.flatMap((path) => {
      const [one, other] = [was.get(path), will.get(path)];
      return one === other
        ? []
        : [{ nodes, setting: shownPath(path), before: there(one, other), after: there(other, one) }];
    }),
  ];
}

/** Limits are of the container, not of the node's own cairn.yaml. */
function limitChanges(before: ResourceLimits, after: ResourceLimits): readonly Omit<SettingChange, "nodes">[] {
  const inWords = ({ memoryBytes, cpus }: ResourceLimits): Record<string, string | null> => ({
    memory: memoryBytes === null ? null : quantityText(memoryBytes),
    cpus: cpus === null ? null : String(cpus),
  });
  const [was, will] = [inWords(before), inWords(after)];
  return Object.keys(was)
    .filter((key) => was[key] !== will[key])
    .map((key) => ({ setting: `deployment.nodes[].${key}`, before: was[key] ?? null, after: will[key] ?? null }));
}

function contentsOf({ files }: NodePlan): ReadonlyMap<string, string> {
  return new Map(files.map(({ path, content }) => [path, content]));
}

/** Where the operator has it: `workspace/AGENTS.md`. */
function shownPath(path: string): string {
  return path.startsWith(`${CONTAINER.seed}/`) ? path.slice(CONTAINER.seed.length + 1) : path;
}

function leafChanges(
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
): readonly Omit<SettingChange, "nodes">[] {
  const paths = [...new Set([...before.keys(), ...after.keys()])].sort();
  return paths
    .filter((path) => before.get(path) !== after.get(path))
    .map((setting) => ({ setting, before: before.get(setting) ?? null, after: after.get(setting) ?? null }));
}

/** `agents.main.model` -> its value as JSON, words without quotes; lists are one value. */
function leavesOf(text: string | undefined): ReadonlyMap<string, string> {
  const leaves = new Map<string, string>();
  const walk = (value: unknown, path: string): void => {
    if (typeof value === "object" && value !== null && !Array.isArray(value) && Object.keys(value).length > 0) {
      for (const [key, inner] of Object.entries(value)) walk(inner, path === "" ? key : `${path}.${key}`);
    } else leaves.set(path, typeof value === "string" ? value : JSON.stringify(value ?? null));
  };
  if (text !== undefined) walk(parseYaml(text, CONFIGURATION).tree, "");
  return leaves;
}
