/** What a run would change, or has changed, made from the engine's events. Nothing here is read from its printed output. */

import type { EngineEvent, StepEventMetadata } from "@pulumi/pulumi/automation/index.js";
import type { Change, ChangeOp, Diff, DiffSummary, PropertyChange } from "../schemas.ts";
import type { Redact } from "./redact.ts";
import { isShown, ownName, parseUrn } from "./urn.ts";

/** Steps of the engine by what they mean to an operator. The parts of a replacement are one `replace`. */
const OPS: Readonly<Record<string, ChangeOp>> = {
  create: "create",
  "create-replacement": "replace",
  replace: "replace",
  "delete-replaced": "replace",
  update: "update",
  delete: "delete",
  import: "import",
  "import-replacement": "replace",
};

/** Of two steps on one resource, the one that says more about it. */
const WEIGHT: Readonly<Record<ChangeOp, number>> = { same: 0, update: 1, import: 2, create: 3, delete: 3, replace: 4 };

export interface DiffBuilder {
  add(event: EngineEvent): void;
  build(stack: string, target: string): Diff;
}

export function diffBuilder(redact: Redact): DiffBuilder {
  const changes = new Map<string, Change>();
  const take = (metadata: StepEventMetadata): void => {
    const { urn, type } = metadata;
    const custom = metadata.new?.custom ?? metadata.old?.custom ?? false;
    if (!isShown(metadata, custom)) return;
    const op = operation(metadata);
    if (op === undefined) return;
    const recorded = changes.get(urn);
    if (recorded && WEIGHT[recorded.op] > WEIGHT[op]) return;
    const sides = propertiesOf(metadata).map((property) => redactProperty(property, redact));
    // The replacement's own step comes without properties when the one before has listed them.
    const properties = sides.length === 0 && recorded ? recorded.properties : sides;
    const inputs = metadata.new?.inputs ?? metadata.old?.inputs;
    changes.set(urn, { op, type: parseUrn(urn).type || type, name: ownName(urn, inputs), urn, properties });
  };
  return {
    add(event) {
      const found = event.resourcePreEvent ?? event.resOutputsEvent;
      if (found) take(found.metadata);
    },
    build: (stack, target) => {
      const all = [...changes.values()];
      const summary = Object.fromEntries(SUMMARY.map((op) => [op, all.filter((one) => one.op === op).length]));
      return {
        schema: 1,
        stack,
        target,
        // Each key of the summary was made in the line above.
        summary: summary as DiffSummary,
        changes: all.filter((one) => one.op !== "same").sort((a, b) => a.urn.localeCompare(b.urn)),
      };
    },
  };
}

const SUMMARY = ["create", "update", "replace", "delete", "import", "same"] as const;

function operation({ op }: StepEventMetadata): ChangeOp | undefined {
  return OPS[op] ?? (op === "same" ? "same" : undefined);
}

function propertiesOf(metadata: StepEventMetadata): PropertyChange[] {
  const { old, new: now, detailedDiff, diffs } = metadata;
  if (!old || !now) return [];
  const before = old.inputs;
  const after = now.inputs;
  if (detailedDiff && Object.keys(detailedDiff).length > 0) {
    return Object.entries(detailedDiff).map(([path, { diffKind, inputDiff }]) => ({
      path,
      kind: kindOf(diffKind),
      before: lookUp(inputDiff ? before : old.outputs, path) ?? lookUp(before, path) ?? null,
      after: lookUp(after, path) ?? null,
    }));
  }
  const keys = diffs ?? [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])];
  return keys.flatMap((path) => compare(path, lookUp(before, path), lookUp(after, path)));
}

/** The places at which two values differ, as deep as both are objects; lists are compared as one value. */
function compare(path: string, before: unknown, after: unknown): PropertyChange[] {
  if (JSON.stringify(before) === JSON.stringify(after)) return [];
  if (isObject(before) && isObject(after)) {
    const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])];
    return keys.flatMap((key) => compare(`${path}.${key}`, before[key], after[key]));
  }
  const kind = before === undefined ? "add" : after === undefined ? "delete" : "update";
  return [{ path, kind, before: before ?? null, after: after ?? null }];
}

function kindOf(kind: string): PropertyChange["kind"] {
  const [word] = kind.split("-");
  return word === "add" || word === "delete" ? word : "update";
}

/** The value at a path as the engine writes it: `a.b`, `a[0].b`, `a["dotted.key"]`. */
export function lookUp(value: unknown, path: string): unknown {
  let here = value;
  for (const [, dotted, index, quoted] of path.matchAll(/([^.[\]]+)|\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]/g)) {
    if (typeof here !== "object" || here === null) return undefined;
    const key = dotted ?? index ?? quoted ?? "";
    here = (here as Record<string, unknown>)[key];
  }
  return here;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A value under a telling name (`password`, `token`) is redacted even where it is not marked as secret. */
const SECRET_NAME = /(?:^|[._[\]"-])(?:password|passwd|secret|token|private_?key|api_?key)s?(?:$|[._[\]"-])/i;

function redactProperty(property: PropertyChange, redact: Redact): PropertyChange {
  const hide = SECRET_NAME.test(property.path);
  const clean = (value: unknown): unknown => (hide && typeof value === "string" ? "[redacted]" : redact(value));
  return { ...property, before: clean(property.before), after: clean(property.after) };
}
