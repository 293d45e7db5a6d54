/** Splitting long texts into messages of a chat platform: how long ten megabytes take, and whether twice the text takes twice as long. */

import { splitMarkdown } from "../runtime/domain/fenced-pieces.ts";
import { splitText } from "../runtime/domain/splitting.ts";
import type { Bench, BenchContext } from "./support/bench.ts";
import { stats } from "./support/stats.ts";

/** UTF-16 units. */
const MEGABYTE = 1_000_000;
const SIZES = [1, 2, 5, 10] as const;
/** What fits into the processor's caches costs half as much: the ratio begins with a text that does not. */
const COMPARED = SIZES.indexOf(2);
const TIMES = 9;
const WARM_UP = 3;
/** Of Discord: the shorter the pieces, the more of them. */
const LIMIT = 2_000;

/** What repeats until the text is long enough. */
const SHAPES = {
  prose:
    "The pump near the harbour was checked on Monday. Ada thinks of the rota, and of number nine!\nIt goes on.\n\n",
  "one endless line without a space": "0123456789abcdef",
  "only fences": "```\n",
  "code blocks": "```ts\nexport const answer = 42;\n```\n\nand then\n",
  emoji: "\u{1f980}\u{1f468}\u200d\u{1f469}\u200d\u{1f467}",
  CJK: "\u6e2f\u306e\u8fd1\u304f\u306e\u30dd\u30f3\u30d7\u3092\u70b9\u691c\u3057\u307e\u3057\u305f\u3002",
  "only line breaks": "\n",
} as const;

export const bench: Bench = {
  about: "splitText and splitMarkdown over texts of 1 to 10 million characters in seven shapes, the sizes in turns",
  async run(context) {
    for (const [shape, unit] of Object.entries(SHAPES)) {
      for (const split of [splitText, splitMarkdown]) {
        measure(context, `${split.name}, ${shape}`, { unit, work: (text) => split(text, LIMIT) });
      }
    }
  },
};

interface Measured {
  readonly unit: string;
  work(text: string): readonly string[];
}

function measure(context: BenchContext, name: string, { unit, work }: Measured): void {
  const texts = SIZES.map((size) => textOf(unit, size * MEGABYTE));
  const times = SIZES.map((): number[] => []);
  for (let n = 0; n < WARM_UP + TIMES; n += 1) {
    context.signal.throwIfAborted();
    if (n === WARM_UP) context.begin();
    for (const [at, text] of texts.entries()) {
      const begun = performance.now();
      work(text);
      if (n >= WARM_UP) times[at]?.push(performance.now() - begun);
    }
  }
  context.together(() => {
    for (const [at, values] of times.entries()) {
      const isLargest = at === times.length - 1;
      const goal = { of: "p95", atMost: 1_000 } as const;
      context.samples({ name: `${name}, ${SIZES[at]} MB`, unit: "ms", ...(isLargest ? { goal } : {}) }, values);
    }
    const perMegabyte = (at: number) => stats(times.at(at) ?? []).p50 / (SIZES.at(at) ?? Number.NaN);
    // 1 where it is linear, 5 where it is quadratic; what holds more pieces has more to collect.
    const goal = { of: "value", atMost: 3 } as const;
    const of10 = `${name}, a megabyte of 10 / one of 2, medians`;
    context.value({ name: of10, unit: "x", goal }, perMegabyte(-1) / perMegabyte(COMPARED));
  });
}

/** One flat string, as a reply is after it was parsed: not a rope, whose first use would be counted. */
function textOf(unit: string, length: number): string {
  return Buffer.from(unit.repeat(Math.ceil(length / unit.length)).slice(0, length), "utf16le").toString("utf16le");
}
