/** Which variables stand in a node's `.env`: what its configuration refers to, and what the operator gave in `.env` for it. */
import { derive } from "../../runtime/config/derive.ts";
import { type Environment, referencedVariables } from "../../runtime/config/references.ts";
import { API_TOKEN_VARIABLE } from "../../runtime/config/secrets-file.ts";
import type { TreeMap } from "../../runtime/config/tree.ts";
import { POSTGRES } from "./types.ts";

/** The container decides them: the operator's own must not travel. */
const OF_THE_PLACE = new Set([
  "SERVICE_HOME",
  "SERVICE_LISTEN",
  "SERVICE_CONTAINER",
  "SERVICE_WORKSPACE_SEED",
  "SERVICE_WORKSPACE_ROOT",
]);
/** Keys to the state and to the password manager open more than one node may see. */
const OF_THE_OPERATOR = /^(?:PULUMI|OP)_/;

export interface NodeSecretsInput {
  /** As the operator wrote it, with deployment.*. */
  readonly written: TreeMap;
  /** As the node gets it. */
  readonly node: TreeMap;
  /** Names in `.env` that have a value. */
  readonly inFile: readonly string[];
  /** Names that have a value, in `.env` or in the environment of the process. */
  readonly known: readonly string[];
  readonly deployedDatabase: boolean;
}

/** Sorted names. Of `.env`, what only other parts of the configuration refer to (deployment.image.password) stays behind. */
export function nodeVariables({ written, node, inFile, known, deployedDatabase }: NodeSecretsInput): string[] {
  const present = new Set(known);
  // Their values do not matter here; that they are there decides what is derived.
  const env: Environment = Object.fromEntries(known.map((name) => [name, name]));
  const wanted = referencedVariables(derive(node, { env, hostname: "node" }));
  const elsewhere = referencedVariables(written);
  const given = inFile.filter((name) => wanted.has(name) || !elsewhere.has(name));
  const names = new Set([...given, ...[...wanted, API_TOKEN_VARIABLE].filter((name) => present.has(name))]);
  if (deployedDatabase) {
    names.delete("SERVICE_PG_DIRECT_URL");
    names.add(POSTGRES.variable);
  }
  return [...names].filter((name) => !OF_THE_PLACE.has(name) && !OF_THE_OPERATOR.test(name)).sort();
}
