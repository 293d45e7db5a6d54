import type { Database, Queryable, Transaction } from "../../runtime/contracts/database.ts";

/** What statements cost: each is noted as it is sent, and run again by EXPLAIN (ANALYZE, BUFFERS) with the planner's own settings. */

export interface Sent {
  readonly text: string;
  readonly values: readonly unknown[];
  /** Settings that its transaction has made. */
  readonly settings: readonly Sent[];
}

/** Notes what is sent, and passes it on. */
export function recording(database: Database, sent: Sent[]): Database {
  const over = <Over extends Queryable>(target: Over, settings: Sent[] | null): Over =>
    new Proxy(target, {
      get(object, name) {
        if (name === "query") {
          return (text: string, values: readonly unknown[] = []) => {
            const one = { text, values, settings: [...(settings ?? [])] };
            if (settings !== null && /^\s*select set_config/.test(text)) settings.push(one);
            else sent.push(one);
            return object.query(text, values);
          };
        }
        if (name === "transaction") {
          return (work: (tx: Transaction) => Promise<unknown>, options?: object) =>
            database.transaction((tx) => work(over(tx, [])), options);
        }
        const value: unknown = Reflect.get(object, name);
        return typeof value === "function" ? value.bind(object) : value;
      },
    });
  return over(database, null);
}

export interface Cost {
  /** Rows that scans read of tables, the ones that were thrown away included. */
  readonly rows: number;
  /** Pages of 8 kB that were touched, found in memory or not. */
  readonly buffers: number;
  /** Tables that were read from one end towards the other, with the rows that were read of them at a time. */
  readonly sequential: Readonly<Record<string, number>>;
  readonly plan: string;
}

interface PlanNode {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Index Name"?: string;
  readonly "Actual Rows": number;
  readonly "Actual Loops": number;
  readonly "Rows Removed by Filter"?: number;
  readonly "Rows Removed by Index Recheck"?: number;
  readonly "Shared Hit Blocks"?: number;
  readonly "Shared Read Blocks"?: number;
  readonly Plans?: readonly PlanNode[];
}

/** Runs the statement again, in a transaction that is undone. */
export async function costOf(database: Database, { text, values, settings }: Sent): Promise<Cost> {
  const undo = new Error("undo");
  let top: PlanNode | undefined;
  await database
    .transaction(
      async (tx) => {
        for (const setting of settings) await tx.query(setting.text, setting.values);
        const { rows } = await tx.query<{ "QUERY PLAN": readonly { readonly Plan: PlanNode }[] }>(
          `explain (analyze, buffers, timing off, format json) ${text}`,
          values,
        );
        top = rows[0]?.["QUERY PLAN"][0]?.Plan;
        throw undo;
      },
      { statementTimeoutMs: 60_000 },
    )
    .catch((error: unknown) => {
      if (error !== undo) throw error;
    });
  if (top === undefined) throw new Error("EXPLAIN answered without a plan.");
  const nodes = nodesOf(top);
  const sequential: Record<string, number> = {};
  for (const node of nodes) {
    const table = node["Relation Name"];
    if (node["Node Type"].endsWith("Seq Scan") && table !== undefined)
      sequential[table] = Math.max(sequential[table] ?? 0, rowsOf(node) / Math.max(1, node["Actual Loops"]));
  }
  return {
    rows: nodes.filter((node) => node["Relation Name"] !== undefined).reduce((sum, node) => sum + rowsOf(node), 0),
    buffers: (top["Shared Hit Blocks"] ?? 0) + (top["Shared Read Blocks"] ?? 0),
    sequential,
    plan: JSON.stringify(top, undefined, 1),
  };
}

function rowsOf(node: PlanNode): number {
  const each =
    node["Actual Rows"] + (node["Rows Removed by Filter"] ?? 0) + (node["Rows Removed by Index Recheck"] ?? 0);
  return Math.round(each * node["Actual Loops"]);
}

function nodesOf(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesOf)];
}
