/** How many rows of a memory were moved or restored, for people: what is said and kept by name, the rest in groups. Pure. */

/** What each table is part of: nobody looks for its rows by its name. */
const GROUPS: Readonly<Record<string, string>> = {
  inbox: "turns and queues",
  turns: "turns and queues",
  turn_steps: "turns and queues",
  turn_questions: "turns and queues",
  turn_steers: "turns and queues",
  outbox: "turns and queues",
  drafts: "turns and queues",
  pairings: "turns and queues",
  forgotten_keys: "forgotten",
  forgotten_summaries: "forgotten",
  erasures: "forgotten",
  access: "bookkeeping",
  embedding_models: "bookkeeping",
  leases: "bookkeeping",
  summary_parents: "bookkeeping",
  summary_sources: "bookkeeping",
};

/** Name and number, for columns; those of which there are none are left out, except the messages. */
export function rowsOf(counts: Readonly<Record<string, number>>): string[][] {
  const totals = new Map<string, number>([["messages", 0]]);
  for (const [table, count] of Object.entries(counts)) {
    const name = GROUPS[table] ?? table.replaceAll("_", " ");
    totals.set(name, (totals.get(name) ?? 0) + count);
  }
  return [...totals]
    .filter(([name, count]) => count > 0 || name === "messages")
    .map(([name, count]) => [name, String(count)]);
}
