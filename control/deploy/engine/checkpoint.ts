/** A stack's state as the engine keeps it: read and edited as data, its secrets still encrypted. */

import { z } from "zod";
import { isBookkeeping, ownName, parseUrn } from "./urn.ts";

const resource = z.looseObject({
  urn: z.string(),
  type: z.string(),
  custom: z.boolean().default(false),
  id: z.string().optional(),
  inputs: z.record(z.string(), z.unknown()).optional(),
  outputs: z.record(z.string(), z.unknown()).optional(),
  protect: z.boolean().optional(),
  retainOnDelete: z.boolean().optional(),
  delete: z.boolean().optional(),
  parent: z.string().optional(),
  provider: z.string().optional(),
  dependencies: z.array(z.string()).nullish(),
  propertyDependencies: z.record(z.string(), z.array(z.string()).nullable()).nullish(),
  deletedWith: z.string().optional(),
});
type Resource = z.infer<typeof resource>;

const deployment = z.looseObject({
  resources: z.array(resource).nullish(),
  pending_operations: z.array(z.looseObject({ resource, type: z.string() })).nullish(),
});

/** What `pulumi stack export` writes and `pulumi stack import` reads. */
export const exportedState = z.looseObject({ version: z.number(), deployment });
export type ExportedState = z.infer<typeof exportedState>;

/** What a file backend keeps: the same under another heading. `latest` is missing before the first change. */
const storedCheckpoint = z.looseObject({
  version: z.number(),
  checkpoint: z.looseObject({ stack: z.string(), latest: deployment.nullish() }),
});

export interface RecordedResource {
  readonly urn: string;
  readonly type: string;
  /** The resource's own name on the target. */
  readonly name: string;
  readonly id: string | null;
  readonly protected: boolean;
  /** As they were applied last; secrets are encrypted. */
  readonly inputs: Readonly<Record<string, unknown>>;
}

export interface PendingOperation {
  readonly urn: string;
  readonly type: string;
  readonly name: string;
  readonly operation: string;
}

/** The stored form as the exported one. Throws a SyntaxError or ZodError when it is neither. */
export function readStored(text: string): ExportedState {
  const { version, checkpoint } = storedCheckpoint.parse(JSON.parse(text));
  return { version, deployment: checkpoint.latest ?? { resources: [] } };
}

/** The other way; `fullName` is `organization/<project>/<stack>`. */
export function toStored(state: ExportedState, fullName: string): string {
  return JSON.stringify({ version: state.version, checkpoint: { stack: fullName, latest: state.deployment } }, null, 4);
}

export function resourcesOf(state: ExportedState | null): RecordedResource[] {
  return (state?.deployment.resources ?? [])
    .filter(({ type, custom }) => !isBookkeeping(type, custom))
    .map(({ urn, type, id, inputs, protect }) => ({
      urn,
      type,
      name: ownName(urn, inputs),
      id: id ?? null,
      protected: protect === true,
      inputs: inputs ?? {},
    }));
}

/** Outputs of the program's last run; null where nothing was ever deployed. */
export function outputsOf(state: ExportedState | null): unknown {
  return state?.deployment.resources?.find(({ type }) => type === "pulumi:pulumi:Stack")?.outputs ?? null;
}

export function pendingOf(state: ExportedState | null): PendingOperation[] {
  return (state?.deployment.pending_operations ?? []).map(({ resource: { urn, type, inputs }, type: operation }) => ({
    urn,
    type: type || parseUrn(urn).type,
    name: ownName(urn, inputs),
    operation,
  }));
}

const IMAGE = "docker:index/remoteImage:RemoteImage";

/**
 * URNs of images of Docker without the id that every container is made from: the host went away between their making and their
 * reading, and the engine would plan with what it has. Nothing is lost with what is recorded of them.
 */
export function unreadImages(state: ExportedState | null): ReadonlySet<string> {
  const unread = (state?.deployment.resources ?? []).filter(
    ({ type, outputs }) => type === IMAGE && !outputs?.["imageId"],
  );
  return new Set(unread.map(({ urn }) => urn));
}

/**
 * The state with its interrupted operations reconciled. A creation whose resource exists under `found` becomes that resource,
 * as if the engine had recorded it; every other operation is dropped: an update or a deletion left the resource recorded
 * as it was, and the next run compares it anew. (The engine's own `refresh --import-pending-creates` drops the operation
 * without importing anything, at least up to 3.250.)
 */
export function resolvePending(state: ExportedState, found: ReadonlyMap<string, string>): ExportedState {
  const { pending_operations: pending, resources, ...rest } = state.deployment;
  const taken = (pending ?? []).flatMap(({ resource: created, type }) => {
    const id = type === "creating" ? found.get(created.urn) : undefined;
    if (id === undefined) return [];
    return [{ ...created, custom: true, id, outputs: created.outputs ?? created.inputs ?? {} }];
  });
  const kept = (resources ?? []).filter((one) => !taken.some(({ urn }) => urn === one.urn && one.delete !== true));
  return { ...state, deployment: { ...rest, resources: inOrder([...kept, ...taken]) } };
}

/**
 * Each resource after what it depends on, else in the order in which they were: the engine refuses a state without that. The
 * replacement of a resource that others depend on comes last where it was cut off.
 */
function inOrder(resources: readonly Resource[]): Resource[] {
  const byUrn = new Map(resources.filter((one) => one.delete !== true).map((one) => [one.urn, one]));
  const ordered = new Set<Resource>();
  const open = new Set<Resource>();
  const add = (one: Resource): void => {
    if (ordered.has(one) || open.has(one)) return;
    open.add(one);
    for (const urn of needsOf(one)) {
      const needed = byUrn.get(urn);
      if (needed !== undefined) add(needed);
    }
    ordered.add(one);
  };
  for (const one of resources) add(one);
  return [...ordered];
}

/** `provider` is the URN of the provider's resource and its id: `urn::id`. */
function needsOf({ parent, provider, dependencies }: Resource): string[] {
  const from = provider?.slice(0, provider.lastIndexOf("::"));
  return [...(parent ? [parent] : []), ...(from ? [from] : []), ...(dependencies ?? [])];
}

/** The state without these resources, and without what others say of them: the engine makes them anew. */
export function forget(state: ExportedState, urns: ReadonlySet<string>): ExportedState {
  if (urns.size === 0) return state;
  const resources = (state.deployment.resources ?? [])
    .filter(({ urn }) => !urns.has(urn))
    .map((one) => withoutLinks(one, urns));
  return { ...state, deployment: { ...state.deployment, resources } };
}

function withoutLinks(one: Resource, urns: ReadonlySet<string>): Resource {
  const remaining = (list: readonly string[] | null | undefined) => (list ?? []).filter((urn) => !urns.has(urn));
  const { dependencies, propertyDependencies, deletedWith, ...rest } = one;
  const properties = Object.entries(propertyDependencies ?? {}).map(([name, list]) => [name, remaining(list)]);
  return {
    ...rest,
    ...(dependencies == null ? {} : { dependencies: remaining(dependencies) }),
    ...(propertyDependencies == null ? {} : { propertyDependencies: Object.fromEntries(properties) }),
    ...(deletedWith === undefined || urns.has(deletedWith) ? {} : { deletedWith }),
  };
}

/** What a command is recorded with where it has to run once more. */
const OUTDATED = "true # outdated";

/** The state in which these commands (`@pulumi/command`) were run with something else, so that the engine runs them again. */
export function outdate(state: ExportedState, urns: ReadonlySet<string>): ExportedState {
  if (urns.size === 0) return state;
  const resources = (state.deployment.resources ?? []).map((one) =>
    urns.has(one.urn)
      ? { ...one, inputs: { ...one.inputs, update: OUTDATED }, outputs: { ...one.outputs, update: OUTDATED } }
      : one,
  );
  return { ...state, deployment: { ...state.deployment, resources } };
}

/** The state without the protection of these resources, so that the engine may remove them. */
export function unprotect(state: ExportedState, urns: ReadonlySet<string>): ExportedState {
  const resources = (state.deployment.resources ?? []).map((one) =>
    urns.has(one.urn) ? { ...one, protect: false } : one,
  );
  return { ...state, deployment: { ...state.deployment, resources } };
}
