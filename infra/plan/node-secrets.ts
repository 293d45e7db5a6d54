/**
 * Which variables are in a node's `.env`: those that its configuration refers to or names, and the service's own. Everything
 * else of the operator's `.env` stays behind.
 */
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
/** Read by the service itself, without a reference in cairn.yaml. */
const OF_THE_SERVICE = /^(?:SERVICE|TOOL_SYNTH)_/;
const OF_TELEMETRY = /^OTEL_/;
/** Keys to the state and to the password manager open more than one node may see. */
const OF_THE_OPERATOR = /^(?:PULUMI|OP)_/;

export interface NodeSecretsInput {
  /** As the operator wrote it, with deployment.*. */
  readonly written: TreeMap;
  /** As the node gets it. */
  readonly node: TreeMap;
  /** `tools.shell.env`: variables that commands may see. */
  readonly shown: readonly string[];
  /** Whether the node sends traces, as the OTEL_* variables say. */
  readonly telemetry: boolean;
  /** Names in `.env` that have a value. */
  readonly inFile: readonly string[];
  /** Names that have a value, in `.env` or in the environment of the process. */
  readonly available: readonly string[];
  readonly deployedDatabase: boolean;
}

export interface NodeVariables {
  /** Sorted. */
  readonly names: readonly string[];
  /** Of `.env`, what nothing refers to, sorted. What only deployment.* refers to (its registry's password) is not meant. */
  readonly unused: readonly string[];
}

export function nodeVariables(input: NodeSecretsInput): NodeVariables {
  const { written, node, inFile, available, deployedDatabase } = input;
  const present = new Set(available);
  // Their values do not matter here; that they are there decides what is derived.
  const env: Environment = Object.fromEntries(available.map((name) => [name, name]));
  const wanted = referencedVariables(derive(node, { env, hostname: "node" }));
  const elsewhere = referencedVariables(written);
  const own = inFile.filter((name) => isRead(name, input) && !elsewhere.has(name));
  const names = new Set([
    ...own,
    ...[...wanted, ...input.shown, API_TOKEN_VARIABLE].filter((name) => present.has(name)),
  ]);
  if (deployedDatabase) {
    names.delete("SERVICE_PG_DIRECT_URL");
    names.add(POSTGRES.variable);
  }
  const travels = (name: string): boolean => !OF_THE_PLACE.has(name) && !OF_THE_OPERATOR.test(name);
  return {
    names: [...names].filter(travels).sort(),
    unused: inFile.filter((name) => travels(name) && !names.has(name) && !elsewhere.has(name)).sort(),
  };
}

function isRead(name: string, { telemetry }: NodeSecretsInput): boolean {
  return OF_THE_SERVICE.test(name) || (telemetry && OF_TELEMETRY.test(name));
}
