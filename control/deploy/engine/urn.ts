/** Names inside a Pulumi URN: `urn:pulumi:<stack>::<project>::<parent types>$<type>::<name>`. */

import { DATABASE_ACCESS_TYPE } from "../../../infra/program.ts";

export interface UrnParts {
  readonly type: string;
  readonly name: string;
}

export function parseUrn(urn: string): UrnParts {
  const [, , types = "", ...name] = urn.split("::");
  return { type: types.split("$").at(-1) ?? "", name: name.join("::") };
}

/** The name that the target's own tools know a resource by, where its inputs say one; else its name in the program. */
export function ownName(urn: string, inputs: Readonly<Record<string, unknown>> | undefined): string {
  const metadata = inputs?.["metadata"];
  const inMetadata =
    typeof metadata === "object" && metadata !== null && "name" in metadata ? metadata.name : undefined;
  const name = inputs?.["name"] ?? inMetadata;
  return typeof name === "string" && name !== "" && !name.startsWith("[") ? name : parseUrn(urn).name;
}

/** Providers, the stack itself and components are the engine's bookkeeping: nothing of them exists on a target. */
export function isBookkeeping(type: string, custom: boolean): boolean {
  return !custom || type.startsWith("pulumi:");
}

/** Steps that make a provider, or the access to the database, another one than it was. */
const OTHER = new Set(["update", "replace", "create-replacement", "delete-replaced"]);

/**
 * Whether a step of the engine is one for an operator. A provider that changes is: it holds how the target is reached, and
 * `destroy` and `refresh` know of no other way than the recorded one. So is what nodes reach the database with.
 */
export function isShown({ type, op }: { readonly type: string; readonly op: string }, custom: boolean): boolean {
  const recorded = type.startsWith("pulumi:providers:") || type === DATABASE_ACCESS_TYPE;
  return !isBookkeeping(type, custom) || (recorded && OTHER.has(op));
}
