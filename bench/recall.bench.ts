/**
 * What share of the turns that answer a question memory_search finds, on conversations that are not part of the project:
 * `npm run -s bench -- recall --locomo FILE --encoder URL`, the file in LoCoMo's format, the URL of an OpenAI-compatible
 * encoder (`http://127.0.0.1:11800/v1`). Each conversation has a store of its own; then all share one.
 */

import { writeFile } from "node:fs/promises";
import type { EmbeddingService } from "../runtime/contracts/embedding.ts";
import { FEATURES, type Feature } from "../runtime/domain/ranking/features.ts";
import { createOpenaiCompatibleEmbedding } from "../runtime/plugins/embeddings/openai-compatible/index.ts";
import { openPostgres } from "../runtime/plugins/memory/postgres/index.ts";
import { silent } from "../test/support/databases.ts";
import type { Bench, BenchContext } from "./support/bench.ts";
import { type Conversation, readLocomo } from "./support/recall/locomo.ts";
import {
  type AskedQuestion,
  askAll,
  DEPTHS,
  FITTED,
  leaveOneOut,
  meanOf,
  type Recalls,
} from "./support/recall/questions.ts";
import { remembering } from "./support/recall/remembering.ts";
import { type Form, fillRecallStore, type Mode, named, type RecallStore, tagged } from "./support/recall/store.ts";

const MODEL = "all-minilm-l6-v2";
const GOALS: Readonly<Record<number, number>> = { 5: 0.71, 10: 0.8 };
const MODES: readonly Mode[] = ["hybrid", "fts", "vector"];

export const bench: Bench = {
  about: "share of the evidence in memory_search's first 5, 10 and 20, with and without each part of the ranking",
  async run(context) {
    const file = context.option("locomo");
    const encoder = context.option("encoder");
    if (file === undefined || encoder === undefined) {
      process.stderr.write("  left out: needs --locomo FILE and --encoder URL\n");
      return;
    }
    const conversations = await readLocomo(file);
    const service = remembering(createOpenaiCompatibleEmbedding({ model: MODEL, baseUrl: encoder }));
    context.defer(() => service.close());
    const asked = await each(context, service, conversations);
    await together(context, service, conversations);
    const dump = context.option("features");
    if (dump !== undefined) await writeFile(dump, JSON.stringify({ features: FEATURES, asked }, plain));
  },
};

/** A store for each conversation. */
async function each(context: BenchContext, service: EmbeddingService, conversations: readonly Conversation[]) {
  const asked: AskedQuestion[] = [];
  const found = new Map<string, Recalls[]>();
  const add = (name: string, recalls: readonly Recalls[]) => found.set(name, [...(found.get(name) ?? []), ...recalls]);
  for (const conversation of conversations) {
    process.stderr.write(`  ${conversation.id}\n`);
    const store = await fill(context, service, [conversation], named);
    asked.push(...(await askAll(store, [conversation], "hybrid")));
    for (const mode of MODES) add(`memory_search, ${mode}`, await ask(store, [conversation], mode));
    const other = await fill(context, service, [conversation], tagged);
    add("memory_search, hybrid, speaker in the metadata", await ask(other, [conversation], "hybrid"));
  }
  ablation(context, "one conversation a store", asked);
  for (const [name, recalls] of found) report(context, `one conversation a store, ${name}`, meanOf(recalls));
  return asked;
}

/** One store for all of them. */
async function together(context: BenchContext, service: EmbeddingService, conversations: readonly Conversation[]) {
  process.stderr.write("  all in one store\n");
  const store = await fill(context, service, conversations, named);
  ablation(context, "all in one store", await askAll(store, conversations, "hybrid"));
  for (const mode of MODES) {
    report(context, `all in one store, memory_search, ${mode}`, meanOf(await ask(store, conversations, mode)));
  }
}

/** Weights of the others' conversations: with everything, without each feature, and what single features can do. */
function ablation(context: BenchContext, name: string, asked: readonly AskedQuestion[]): void {
  const recall = (features: readonly Feature[]) =>
    meanOf(leaveOneOut(asked, features).flatMap(({ recalls }) => recalls));
  const possible = asked.reduce((sum, one) => sum + one.example.evidence.length / one.wanted, 0) / asked.length;
  context.value({ name: `${name}, evidence among the candidates`, unit: "share" }, possible);
  report(context, `${name}, weights of the others`, recall(FITTED), GOALS);
  for (const feature of FITTED) {
    report(context, `${name}, without ${feature}`, recall(FITTED.filter((one) => one !== feature)));
  }
  for (const feature of ["words", "window", "meaning"] as const)
    report(context, `${name}, ${feature} alone`, recall([feature]));
  const outs = leaveOneOut(asked, FITTED);
  for (const category of [1, 2, 3, 4, 5]) {
    const own = outs.flatMap(({ conversation, recalls }) => {
      const questions = asked.filter((one) => one.conversation === conversation);
      return recalls.filter((_, n) => questions[n]?.category === category);
    });
    report(context, `${name}, questions of category ${category}`, meanOf(own));
  }
}

async function fill(
  context: BenchContext,
  service: EmbeddingService,
  conversations: readonly Conversation[],
  form: Form,
): Promise<RecallStore> {
  const database = await openPostgres({ connectionString: await context.postgres(), pool: 4, logger: silent });
  context.defer(() => database.close());
  return fillRecallStore(database, service, conversations, form, context.signal);
}

async function ask(store: RecallStore, conversations: readonly Conversation[], mode: Mode): Promise<Recalls[]> {
  const recalls: Recalls[] = [];
  for (const { id, questions } of conversations) {
    for (const { text, evidence } of questions) {
      const found = await store.ask(text, mode, Math.max(...DEPTHS));
      const share = (depth: number) =>
        evidence.filter((turn) => found.slice(0, depth).includes(`${id} ${turn}`)).length / evidence.length;
      recalls.push([share(5), share(10), share(20)]);
    }
  }
  return recalls;
}

function report(context: BenchContext, name: string, recalls: Recalls, goals: typeof GOALS = {}): void {
  for (const [n, depth] of DEPTHS.entries()) {
    const least = goals[depth];
    const goal = least === undefined ? {} : { goal: { of: "value", atLeast: least } as const };
    context.value({ name: `${name}, recall at ${depth}`, unit: "share", ...goal }, recalls[n] ?? 0);
  }
}

/** Five digits of each feature are enough to fit weights to. */
function plain(_: string, value: unknown): unknown {
  return value instanceof Float64Array ? Array.from(value, (one) => Math.round(one * 1e5) / 1e5) : value;
}
