/** What everything of a stack is called, the same on every target. Names are made of DNS labels alone. */

import type { CommonPlan } from "./types.ts";

/** Longest name of one workload: a StatefulSet appends its revision, and the whole must be a label of 63 characters. */
export const LONGEST_WORKLOAD = 52;
/** What a node cannot be called where the stack has a database: their workloads would share a name. */
export const DATABASE_NAME = "postgres";
/** The one node of a stack whose configuration names none. */
export const ONLY_NODE = "main";

export interface StackNames {
  /** Container, CT or StatefulSet of a node. */
  node(name: string): string;
  /** Volume with the node's key, mesh.json, spool, payloads and embedded store. */
  home(name: string): string;
  /** Volume with the workspaces of the node's agents. */
  workspace(name: string): string;
  readonly postgres: string;
  readonly database: string;
  readonly shared: string;
}

export function stackNames(stack: string): StackNames {
  return {
    node: (name) => `${stack}-${name}`,
    home: (name) => `${stack}-${name}-home`,
    workspace: (name) => `${stack}-${name}-workspace`,
    postgres: `${stack}-${DATABASE_NAME}`,
    database: `${stack}-${DATABASE_NAME}-data`,
    shared: `${stack}-shared`,
  };
}

/** Name of the data of the stack's PostgreSQL: of the volume, the claim, or the directory's resource. */
export function databaseData({ stack, postgres }: Pick<CommonPlan, "stack" | "postgres">): string {
  return postgres?.data ?? stackNames(stack).database;
}

/** Data in a directory of the stack's, by its name there. */
export function directoryData(stack: string, directory: string): string {
  return `${stack}-${directory}-data`;
}

/** The directory with data of this name. */
export function dataDirectoryOf(stack: string, data: string): string {
  return data.slice(stack.length + 1, -"-data".length);
}

/** Name of the data that a server of another major writes beside them. */
export function databaseDataOf(stack: string, major: number): string {
  return `${stackNames(stack).postgres}-${major}-data`;
}
