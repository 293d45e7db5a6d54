/**
 * What share of the turns that answer a question memory_search finds, on conversations that are not part of the project:
 * `npm run -s bench -- recall --locomo FILE --encoder URL`, the file in LoCoMo's format, the URL of an OpenAI-compatible
 * encoder (`http://127.0.0.1:11800/v1`). Each conversation has a store of its own, or all share one.
 * `--part left-out,one-store,ablation,kinds,modes` runs some of its parts only.
 */

import { writeFile } from "node:fs/promises";
import { FEATURES, type Feature } from "../runtime/domain/ranking/features.ts";
import type { Bench, BenchContext } from "./support/bench.ts";
import type { Conversation } from "./support/recall/locomo.ts";
import {
  type AskedQuestion,
  askAll,
  DEPTHS,
  FITTED,
  leaveOneOut,
  meanOf,
  type Recalls,
  searchAll,
} from "./support/recall/questions.ts";
import { openSource, type Source } from "./support/recall/source.ts";
import { type Form, fillRecallStore, type Mode, named, type RecallStore, tagged } from "./support/recall/store.ts";

const GOALS: Readonly<Record<number, number>> = { 5: 0.71, 10: 0.8 };
const MODES: readonly Mode[] = ["hybrid", "fts", "vector"];
const PROGRESS_EVERY_MS = 10_000;
const KINDS = { 1: "several turns", 2: "time", 3: "open", 4: "one turn", 5: "the wrong person" } as const;

/** Candidates are one conversation's, or those of all. */
const LAYOUTS = ["one conversation a store", "all in one store"] as const;
type Layout = (typeof LAYOUTS)[number];

/** What the parts share: each way of storing is filled, and asked for features, once a run. */
interface RecallRun {
  readonly context: BenchContext;
  asked(layout: Layout): Promise<readonly AskedQuestion[]>;
  /** Does it with each store of this way, and with the conversations in it. */
  each<T>(
    layout: Layout,
    form: Form,
    work: (store: RecallStore, held: readonly Conversation[]) => Promise<T[]>,
  ): Promise<T[]>;
}

const PARTS: Readonly<Record<string, (run: RecallRun) => Promise<void>>> = {
  "left-out": (run) => leftOut(run, "one conversation a store"),
  "one-store": (run) => leftOut(run, "all in one store"),
  async ablation(run) {
    for (const layout of LAYOUTS) ablation(run.context, layout, await run.asked(layout));
  },
  async kinds(run) {
    for (const layout of LAYOUTS) kinds(run.context, layout, await run.asked(layout));
  },
  async modes(run) {
    for (const layout of LAYOUTS) await modes(run, layout);
  },
};

export const bench: Bench = {
  about: "share of the evidence in memory_search's first 5, 10 and 20, with and without each part of the ranking",
  async run(context) {
    const wanted = context.option("part")?.split(",") ?? Object.keys(PARTS);
    const unknown = wanted.filter((name) => !Object.hasOwn(PARTS, name));
    if (unknown.length > 0) throw new Error(`No such part: ${unknown}. Known: ${Object.keys(PARTS).join(", ")}`);
    const source = await openSource(context);
    if (source === null) return;
    const run = start(context, source);
    for (const name of wanted) await PARTS[name]?.(run);
    const dump = context.option("features");
    if (dump === undefined) return;
    const asked = await run.asked("one conversation a store");
    await writeFile(dump, JSON.stringify({ features: FEATURES, asked }, plain));
  },
};

function start(context: BenchContext, { conversations, service }: Source): RecallRun {
  const cached = new Map<Layout, Promise<readonly AskedQuestion[]>>();
  const run: RecallRun = {
    context,
    asked(layout) {
      const asked =
        cached.get(layout) ??
        run.each(layout, named, (store, held) =>
          withProgress(`${layout}: features`, held, (onAsked) => askAll(store, held, "hybrid", onAsked)),
        );
      cached.set(layout, asked);
      return asked;
    },
    async each(layout, form, work) {
      const groups = layout === "all in one store" ? [conversations] : conversations.map((one) => [one]);
      const results = [];
      for (const held of groups) {
        process.stderr.write(`  ${layout}: filling ${held.map(({ id }) => id).join(" ")}\n`);
        const store = await fillRecallStore(await context.postgres(), service, held, form, context.signal);
        try {
          results.push(...(await work(store, held)));
        } finally {
          await store.memory.close();
        }
      }
      return results;
    },
  };
  return run;
}

/** By weights that were fitted to the other conversations' questions. */
async function leftOut({ context, asked: askedIn }: RecallRun, layout: Layout): Promise<void> {
  const asked = await askedIn(layout);
  const possible = asked.reduce((sum, one) => sum + one.example.evidence.length / one.wanted, 0) / asked.length;
  const candidates = asked.reduce((sum, one) => sum + one.example.rows.length, 0) / asked.length;
  const outs = leaveOneOut(asked, FITTED);
  const all = outs.flatMap(({ recalls }) => recalls);
  context.together(() => {
    context.value({ name: `${layout}, evidence among the candidates`, unit: "share" }, possible);
    context.value({ name: `${layout}, candidates of a question`, unit: "" }, candidates);
    report(context, `${layout}, weights of the others`, meanOf(all), GOALS);
    for (const { conversation, recalls } of outs) {
      report(context, `${layout}, weights of the others, ${conversation}`, meanOf(recalls));
    }
  });
}

/** Weights of the others' conversations: with everything, without each feature, and what single features can do. */
function ablation(context: BenchContext, layout: Layout, asked: readonly AskedQuestion[]): void {
  const measure = (name: string, features: readonly Feature[]) => {
    const all = leaveOneOut(asked, features).flatMap(({ recalls }) => recalls);
    report(context, `${layout}, ${name}`, meanOf(all));
    process.stderr.write(`  ${layout}: ${name}\n`);
  };
  measure("everything", FITTED);
  for (const feature of FITTED) {
    measure(
      `without ${feature}`,
      FITTED.filter((one) => one !== feature),
    );
  }
  for (const feature of ["words", "window", "meaning"] as const) measure(`${feature} alone`, [feature]);
  measure("words, window", ["words", "window"]);
  measure("words, window, meaning", ["words", "window", "meaning"]);
}

function kinds(context: BenchContext, layout: Layout, asked: readonly AskedQuestion[]): void {
  const outs = leaveOneOut(asked, FITTED);
  for (const [category, kind] of Object.entries(KINDS)) {
    const own = outs.flatMap(({ conversation, recalls }) => {
      const questions = asked.filter((one) => one.conversation === conversation);
      return recalls.filter((_, n) => questions[n]?.category === Number(category));
    });
    report(context, `${layout}, ${own.length} questions about ${kind}`, meanOf(own));
  }
}

/** As an agent asks: the committed weights, which have seen the questions. */
async function modes({ context, each }: RecallRun, layout: Layout): Promise<void> {
  const found = await each(layout, named, async (store, held) => {
    const perMode = [];
    for (const mode of MODES) {
      const recalls = await withProgress(`${layout}: ${mode}`, held, (onAsked) =>
        searchAll(store, held, mode, onAsked),
      );
      perMode.push({ mode, recalls });
    }
    return perMode;
  });
  for (const mode of MODES) {
    const recalls = found.filter((one) => one.mode === mode).flatMap((one) => one.recalls);
    report(context, `${layout}, memory_search, ${mode}`, meanOf(recalls));
  }
  if (layout === "all in one store") return;
  const other = await each(layout, tagged, (store, held) =>
    withProgress(`${layout}: speaker in the metadata`, held, (onAsked) => searchAll(store, held, "hybrid", onAsked)),
  );
  report(context, `${layout}, memory_search, hybrid, speaker in the metadata`, meanOf(other));
}

/** Says now and then how many of the questions have been asked. */
async function withProgress<T>(
  name: string,
  held: readonly Conversation[],
  work: (onAsked: () => void) => Promise<T>,
): Promise<T> {
  const all = held.reduce((sum, { questions }) => sum + questions.length, 0);
  let asked = 0;
  const showProgress = () => process.stderr.write(`  ${name}: ${asked} of ${all} questions\n`);
  const timer = setInterval(showProgress, PROGRESS_EVERY_MS);
  try {
    return await work(() => {
      asked += 1;
    });
  } finally {
    clearInterval(timer);
    showProgress();
  }
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
