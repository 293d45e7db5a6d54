/**
 * The same conversations and questions for other memory systems and this one: same server, same vectors, in turns.
 * `npm run -s bench -- peers --locomo FILE --encoder URL`, as `recall` takes them.
 */

import { randomUUID } from "node:crypto";
import pg from "pg";
import type { EmbeddingService } from "../runtime/contracts/embedding.ts";
import type { Peer, PeerRow } from "./peers/peer.d.ts";
import type { Bench, BenchContext } from "./support/bench.ts";
import { startEncoderServer } from "./support/encoder-server.ts";
import { openCairn } from "./support/peers/cairn.ts";
import { installPeers } from "./support/peers/install.ts";
import type { Conversation } from "./support/recall/locomo.ts";
import { MODEL, openSource } from "./support/recall/source.ts";
import { named, roleOf } from "./support/recall/store.ts";

const LIMIT = 10;
/** Of the searches' times: each question is asked once, these first ones unmeasured. */
const WARM_UP = 20;

interface Contestant {
  readonly name: string;
  readonly peer: Peer;
  readonly adds: number[];
  readonly searches: number[];
  /** Share of each question's evidence among the hits, in whatever order: one of the others sorts them by time. */
  readonly recalls: number[];
}

export const bench: Bench = {
  about:
    "LoCoMo in mem0ai, @mastra/memory and here: adds one by one, searches with k=10, turn-level recall in one conversation",
  async run(context) {
    const source = await openSource(context);
    if (source === null) return;
    const { conversations, service } = source;
    const url = await startEncoderServer(context, service);
    const dimensions = (await service.embed(["How long is a vector?"]))[0]?.length ?? 0;
    const rows = conversations.map((conversation) => ({ conversation, rows: rowsOf(conversation) }));
    // Nobody is to wait for the encoder when it is measured.
    await encodeAll(service, [
      ...rows.flatMap(({ rows }) => rows.map(({ text }) => text)),
      ...conversations.flatMap(({ questions }) => questions.map(({ text }) => text)),
    ]);
    const contestants: Contestant[] = [];
    const enter = (name: string, peer: Peer) => {
      context.defer(() => peer.close());
      contestants.push({ name, peer, adds: [], searches: [], recalls: [] });
    };
    const options = { embeddingsUrl: url, model: MODEL, dimensions };
    const databases: string[] = [];
    const database = async () => {
      databases.push(await databaseWithVectors(context));
      return databases.at(-1) ?? "";
    };
    const cairn = await openCairn({ ...options, connectionString: await database() });
    enter("cairn", cairn);
    for (const { name, open } of await installPeers(["mem0.js", "mastra.js"], context.signal)) {
      enter(name, await open({ ...options, connectionString: await database() }));
    }
    context.begin();
    await addAll(
      contestants,
      rows.flatMap(({ rows }) => rows),
    );
    context.together(() => {
      for (const { name, adds } of contestants) context.samples({ name: `add: ${name}`, unit: "ms" }, adds);
    });
    await cairn.waitForWork(context.signal);
    // The planner is to know everybody's rows, whenever the server would have looked by itself.
    for (const one of databases) await query(one, "analyze");
    // One of the others has parts of a question encoded, too. Ours remembers vectors of questions, which would be no fair start.
    await askAll(contestants.slice(1), rows, context.signal);
    for (const one of contestants) one.searches.splice(0);
    for (const one of contestants) one.recalls.splice(0);
    context.begin();
    await askAll(contestants, rows, context.signal);
    context.together(() => report(context, contestants));
  },
};

async function databaseWithVectors(context: BenchContext): Promise<string> {
  const connectionString = await context.postgres();
  await query(connectionString, "create extension if not exists vector");
  return connectionString;
}

async function query(connectionString: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

/** Texts between two words of progress. */
const STEP = 320;

async function encodeAll(service: EmbeddingService, texts: readonly string[]): Promise<void> {
  for (let from = 0; from < texts.length; from += STEP) {
    process.stderr.write(`  ${from} of ${texts.length} texts encoded\n`);
    await service.embed(texts.slice(from, from + STEP));
  }
}

function rowsOf(conversation: Conversation): PeerRow[] {
  const { id, turns } = conversation;
  return turns.map((turn) => ({
    id: randomUUID(),
    turn: turn.id,
    group: id,
    session: `${id}-${turn.session}`,
    role: roleOf(turn, conversation),
    text: named(turn).content,
    at: new Date(turn.at),
  }));
}

async function addAll(contestants: readonly Contestant[], rows: readonly PeerRow[]): Promise<void> {
  for (const row of rows) {
    for (const { peer, adds } of contestants) {
      const began = performance.now();
      await peer.add(row);
      adds.push(performance.now() - began);
    }
  }
}

interface Question {
  readonly conversation: Conversation;
  readonly rows: readonly PeerRow[];
}

async function askAll(
  contestants: readonly Contestant[],
  entries: readonly Question[],
  signal: AbortSignal,
): Promise<void> {
  let asked = 0;
  for (const { conversation, rows } of entries) {
    const turns = new Map(rows.map(({ id, turn }) => [id, turn]));
    const session = rows.at(-1)?.session ?? "";
    for (const { text, evidence } of conversation.questions) {
      signal.throwIfAborted();
      for (const { peer, searches, recalls } of contestants) {
        const began = performance.now();
        const found = await peer.search({ group: conversation.id, session, query: text, limit: LIMIT });
        if (asked >= WARM_UP) searches.push(performance.now() - began);
        const ids = found.map((id) => turns.get(id));
        recalls.push(evidence.filter((turn) => ids.includes(turn)).length / evidence.length);
      }
      asked += 1;
    }
  }
}

function report(context: BenchContext, contestants: readonly Contestant[]): void {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  for (const { name, searches, recalls } of contestants) {
    context.samples({ name: `search with its query's vector: ${name}`, unit: "ms" }, searches);
    context.value({ name: `recall at 10: ${name}`, unit: "share" }, mean(recalls));
  }
}
