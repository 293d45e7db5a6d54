/** A stack on Docker is broken by hand and healed: what has to be true of every such case. */

import { expect } from "vitest";
import type { FoundDrift } from "../../../control/deploy/schemas.ts";
import type { Break } from "./breaks.ts";
import type { OperatedStack } from "./operated-stack.ts";

const ROWS = "SELECT * FROM kept ORDER BY n";

/** Seen by status, shown by preview, which changes nothing, and brought back by the same `up`, no row of the table `kept` lost. */
export async function healed(stack: OperatedStack, breaks: readonly Break[]): Promise<void> {
  const rows = await stack.sql(ROWS);
  for (const one of breaks) await one.make(stack.name);
  const all = new Set(breaks.flatMap(({ found }) => found));
  // What is made anew because of one break needs nothing for the other.
  const expected = [...all]
    .filter((line) => !(line.startsWith("stopped ") && all.has(line.replace("stopped", "changed"))))
    .sort();
  const words = (drift: readonly FoundDrift[]) =>
    [...new Set(drift.map(({ kind, name }) => `${kind} ${name.slice(stack.name.length + 1)}`))].sort();
  const before = await stack.snapshot();
  expect(await stack.status()).toMatchObject({ healthy: false });
  const { drift } = await stack.preview();
  expect(words(drift)).toEqual(expected);
  expect(drift.filter(({ data_lost }) => data_lost).length).toBe(
    expected.filter((line) => line.endsWith("-home")).length,
  );
  expect(await stack.snapshot()).toBe(before);

  const result = await stack.up();
  expect(result.healthy).toBe(true);
  expect(words(result.drift)).toEqual(expected);
  expect(await stack.status()).toMatchObject({ healthy: true });
  expect(await stack.sql(ROWS)).toBe(rows);
}
