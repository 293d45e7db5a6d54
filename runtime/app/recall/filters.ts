import type { Visibility } from "../../contracts/memory.ts";
import type { Values } from "./sql.ts";

/** What a search may see. The conditions stand inside every statement: nothing is filtered afterwards. */

export interface Filters {
  readonly agent?: string | undefined;
  /** Inclusive. */
  readonly since?: Date | undefined;
  /** Exclusive. */
  readonly before?: Date | undefined;
  readonly visibility?: Visibility | undefined;
  readonly exclude?: ReadonlySet<string> | undefined;
}

/** Whether anything is filtered at all. */
export function isFiltered({ agent, since, before, visibility, exclude }: Filters): boolean {
  const ofOne = visibility !== undefined && !("all" in visibility);
  return ofOne || agent !== undefined || since !== undefined || before !== undefined || (exclude?.size ?? 0) > 0;
}

/** Conditions on `messages as m`, each beginning with `and`. */
export function messageConditions(filters: Filters, values: Values): string {
  const conditions: string[] = [];
  if (filters.agent !== undefined) conditions.push(`m.agent = ${values.add(filters.agent)}`);
  if (filters.since !== undefined) conditions.push(`m.created_at >= ${values.add(filters.since.toISOString())}`);
  if (filters.before !== undefined) conditions.push(`m.created_at < ${values.add(filters.before.toISOString())}`);
  conditions.push(...visible("m", filters.visibility, values), ...notExcluded("m", filters.exclude, values));
  return conjoin(conditions);
}

/** Conditions on `summaries as s`; a summary lies within a span of time when what it covers touches it. */
export function summaryConditions(filters: Filters, values: Values): string {
  const conditions: string[] = [];
  if (filters.agent !== undefined) {
    const agent = values.add(filters.agent);
    // A scalar for each row: of `exists` the planner would first list all conversations of the agent.
    conditions.push(`(select c.agent from conversations c where c.id = s.conversation_id) = ${agent}`);
  }
  if (filters.since !== undefined) {
    conditions.push(`coalesce(s.latest_at, s.created_at) >= ${values.add(filters.since.toISOString())}`);
  }
  if (filters.before !== undefined) {
    conditions.push(`coalesce(s.earliest_at, s.created_at) < ${values.add(filters.before.toISOString())}`);
  }
  conditions.push(...visible("s", filters.visibility, values), ...notExcluded("s", filters.exclude, values));
  return conjoin(conditions);
}

/** Condition on a column that holds a conversation's id, for statements with an alias of their own. */
export function visible(alias: string, visibility: Visibility | undefined, values: Values): string[] {
  if (visibility === undefined || "all" in visibility) return [];
  const channel = values.add(visibility.channel);
  const user = values.add(visibility.user);
  return [
    `${alias}.conversation_id in (select id from conversations where channel = ${channel} and user_id = ${user})`,
  ];
}

function notExcluded(alias: string, exclude: ReadonlySet<string> | undefined, values: Values): string[] {
  if (exclude === undefined || exclude.size === 0) return [];
  return [`${alias}.id <> all(${values.add([...exclude])}::uuid[])`];
}

function conjoin(conditions: readonly string[]): string {
  return conditions.map((condition) => ` and ${condition}`).join("");
}
