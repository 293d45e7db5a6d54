/** What models with windows of their own are shown of a conversation: a chosen one, the next of a chain, and one that refuses what it gets. */

import { afterEach, expect, it } from "vitest";
import type { Database } from "../../../../runtime/contracts/database.ts";
import { ProviderError } from "../../../../runtime/contracts/errors.ts";
import type { ContentPart, Message } from "../../../../runtime/contracts/message.ts";
import type { Tool } from "../../../../runtime/contracts/tool.ts";
import { describeEachDatabase } from "../../../support/databases.ts";
import {
  end,
  type Harness,
  type HarnessOptions,
  type Script,
  startHarness,
  text,
} from "../../../support/turn-harness.ts";

const SMALL = 8_000;
const LEAST = 6_000;
type Request = Harness["requests"][number];

const isSummary = ({ options }: Pick<Request, "options">) =>
  options.system?.startsWith("You keep an AI agent's conversation") === true;
const wordsOf = (content: string | readonly ContentPart[]) =>
  typeof content === "string" ? content : content.map((part) => (part.type === "text" ? part.text : "")).join("");
const contents = (messages: readonly Message[]) => messages.map(({ content }) => wordsOf(content)).join("\n");
/** As the harness counts. */
const weight = ({ messages, options }: Pick<Request, "messages" | "options">) =>
  (contents(messages).length +
    [options.system, options.context, options.retrieved].join("").length +
    (options.tools === undefined ? 0 : JSON.stringify(options.tools).length)) /
  4;
const factsIn = (words: string) => new Set(words.match(/\bk\d+=x\d+\b/g) ?? []);
const PADDING = "the rest of this sentence only takes room ".repeat(10);
const fact = (n: number) => `k${n}=x${n}, and ${PADDING}`;

/** Keeps the requests that it is sent. */
/** `more`: what its summaries say beside the facts. */
function model(answer: Script = () => [text(`noted. ${PADDING}`), end()], more = "") {
  const requests: Pick<Request, "messages" | "options">[] = [];
  const script: Script = (request, call) => {
    if (isSummary(request)) {
      const facts = [...factsIn(contents(request.messages))].join(" ");
      return [text(`Told so far: ${facts}. ${more}`), end()];
    }
    requests.push({ ...request, messages: [...request.messages] });
    return answer(request, call);
  };
  return { script, requests };
}
const summaryCalls = ({ requests }: Harness) => requests.filter(isSummary).length;
const down: Script = () => {
  throw new ProviderError("PROVIDER_OVERLOADED", "down");
};
const tooLong: Script = () => {
  throw new ProviderError("PROVIDER_CONTEXT_TOO_LONG", "too long");
};

describeEachDatabase("windows of models", (open) => {
  const running: Harness[] = [];
  afterEach(async () => {
    await Promise.all(running.splice(0).map((harness) => harness.stop()));
  });
  async function start(options: Omit<HarnessOptions, "database"> & { database?: Database }): Promise<Harness> {
    const harness = await startHarness({ ...options, database: options.database ?? (await open()) });
    running.push(harness);
    return harness;
  }
  async function say(harness: Harness, from: number, to: number) {
    for (let n = from; n <= to; n += 1) await harness.say(fact(n));
  }

  it("hold for a model that was chosen in the conversation, and for the agent's own afterwards", async () => {
    const own = model();
    const small = model();
    const harness = await start({ script: own.script, others: { small: small.script }, windows: { small: SMALL } });
    await say(harness, 1, 40);
    await harness.command("/model small:s");
    await say(harness, 41, 41);
    const calls = summaryCalls(harness);
    expect(calls).toBeGreaterThan(0);
    await say(harness, 42, 42);
    expect(small.requests).toHaveLength(2);
    for (const request of small.requests) expect(weight(request)).toBeLessThan(SMALL);
    expect(factsIn(contents(small.requests.at(-1)?.messages ?? [])).size).toBe(42);
    // What its summary stands for is shown whole where there is room for it.
    await harness.command("/model default");
    await say(harness, 43, 43);
    expect(own.requests.at(-1)?.messages).toHaveLength(85);
    expect(summaryCalls(harness)).toBe(calls);
  }, 60_000);

  it("hold for the next model of a chain, which is summarized for once and not at each question", async () => {
    const own = model();
    const small = model();
    let isDown = false;
    const harness = await start({
      script: (request, call) => (isDown ? down(request, call) : own.script(request, call)),
      others: { small: small.script },
      agent: { fallbacks: ["small:s"] },
      windows: { small: SMALL },
    });
    await say(harness, 1, 40);
    isDown = true;
    await say(harness, 41, 41);
    const calls = summaryCalls(harness);
    expect(calls).toBeGreaterThan(0);
    await say(harness, 42, 50);
    expect(small.requests).toHaveLength(10);
    for (const request of small.requests) expect(weight(request)).toBeLessThan(SMALL);
    expect(factsIn(contents(small.requests.at(-1)?.messages ?? [])).size).toBe(50);
    expect(summaryCalls(harness)).toBe(calls);
  }, 60_000);

  /** A conversation that was summarized for a larger window; resolves with what the smaller model is shown of so many exchanges. */
  async function continuedWith(small: Script) {
    const harness = await start({
      script: model(undefined, "It rained. ".repeat(1_000)).script,
      others: { small },
      windows: { scripted: 24_000, small: LEAST },
    });
    let exchanges = 0;
    while (summaryCalls(harness) === 0) await say(harness, ++exchanges, exchanges);
    await harness.command("/model small:s");
    exchanges++;
    await say(harness, exchanges, exchanges);
    return exchanges;
  }

  it("hold what follows a summary that was made for a larger one", async () => {
    const small = model();
    const exchanges = await continuedWith(small.script);
    const [request] = small.requests;
    expect(request && weight(request)).toBeLessThan(LEAST);
    expect(factsIn(contents(request?.messages ?? [])).size).toBe(exchanges);
  }, 60_000);

  it("hold the beginning of a summary that was made for a larger one, where no other can be had", async () => {
    const small = model();
    const exchanges = await continuedWith((request, call) => (isSummary(request) ? down : small.script)(request, call));
    const [request] = small.requests;
    expect(request && weight(request)).toBeLessThan(LEAST);
    const shown = factsIn(contents(request?.messages ?? []));
    expect(shown).toContain("k1=x1");
    expect(shown).toContain(`k${exchanges}=x${exchanges}`);
  }, 60_000);

  it("are not smaller for a next model of the same size, when one refuses the conversation as too long", async () => {
    const own = model();
    const other = model();
    let refuses = false;
    const harness = await start({
      script: (request, call) => (refuses ? tooLong(request, call) : own.script(request, call)),
      others: { other: other.script },
      agent: { fallbacks: ["other:o"] },
    });
    await say(harness, 1, 20);
    refuses = true;
    await say(harness, 21, 21);
    expect(other.requests).toHaveLength(1);
    expect(other.requests[0]?.messages).toHaveLength(41);
  }, 60_000);

  it("are found to be smaller for each model by itself, and the one that answers is summarized for by itself", async () => {
    const REAL = 4_000;
    let isDown = false;
    let asked = 0;
    const own = model();
    const other = model((request, call) =>
      weight(request) > REAL ? tooLong(request, call) : [text(`noted. ${PADDING}`), end()],
    );
    const harness = await start({
      script: (request, call) => {
        if (!isDown) return own.script(request, call);
        asked += 1;
        return down(request, call);
      },
      others: { other: other.script },
      agent: { fallbacks: ["other:o"] },
    });
    await say(harness, 1, 20);
    isDown = true;
    await say(harness, 21, 21);
    expect(summaryCalls(harness)).toBeGreaterThan(0);
    expect(asked).toBe(1);
    expect(other.requests).toHaveLength(2);
    expect(factsIn(contents(other.requests[1]?.messages ?? [])).size).toBe(21);
  }, 60_000);

  it("of models whose calls are suspended are not summarized for", async () => {
    const big = model();
    const small = model(down);
    const harness = await start({
      script: small.script,
      others: { big: big.script },
      agent: { fallbacks: ["big:b"] },
      windows: { scripted: SMALL },
      // Stands still: they stay suspended.
      clock: { now: () => new Date(), monotonic: () => 0 },
    });
    await say(harness, 1, 30);
    expect(small.requests).toHaveLength(5);
    expect(big.requests).toHaveLength(30);
    expect(summaryCalls(harness)).toBe(0);
  }, 60_000);

  it("are larger for a next model: it is asked where one refuses the conversation as too long", async () => {
    const big = model();
    const harness = await start({
      script: model(tooLong).script,
      others: { big: big.script },
      agent: { fallbacks: ["big:b"] },
      windows: { scripted: SMALL },
    });
    expect((await harness.say("hello")).text).toContain("noted");
    expect(big.requests).toHaveLength(1);
  });

  it("that are smaller than configured are shown less, in the same turn, as long as the conversation goes on", async () => {
    const REAL = 6_000;
    const own = model((request, call) =>
      weight(request) > REAL ? tooLong(request, call) : [text(`noted. ${PADDING}`), end()],
    );
    const harness = await start({ script: own.script });
    await say(harness, 1, 45);
    const taken = own.requests.filter((request) => weight(request) <= REAL);
    expect(taken).toHaveLength(45);
    for (const [index, { messages }] of taken.entries()) expect(factsIn(contents(messages)).size).toBe(index + 1);
    // Each turn asks twice at most, and few are summarized for.
    expect(own.requests.length).toBeLessThan(90);
    expect(summaryCalls(harness)).toBeLessThan(8);
  }, 60_000);

  it("hold the definitions of the tools as well", async () => {
    const tools = Array.from(
      { length: 40 },
      (_, n): Tool => ({
        name: `tool_${n}`,
        description: "x".repeat(2_000),
        parameters: { type: "object" },
        execute: async () => ({ content: "ok" }),
      }),
    );
    const own = model();
    const harness = await start({ script: own.script, tools, windows: { scripted: 32_000 } });
    await say(harness, 1, 60);
    for (const request of own.requests) expect(weight(request)).toBeLessThan(32_000);
    expect(factsIn(contents(own.requests.at(-1)?.messages ?? [])).size).toBe(60);
    expect(summaryCalls(harness)).toBeGreaterThan(0);
  }, 60_000);

  it("hold the images of a message as well", async () => {
    const own = model();
    const harness = await start({ script: own.script, windows: { scripted: SMALL } });
    await say(harness, 1, 20);
    const images = [1, 2, 3].map((n) => ({
      name: `${n}.png`,
      mediaType: "image/png",
      data: Buffer.from(`image ${n}`).toString("base64"),
    }));
    await harness.say(fact(21), { attachments: images });
    const last = own.requests.at(-1);
    expect(JSON.stringify(last?.messages).split('"type":"image"')).toHaveLength(4);
    // Each counts as 1,600 tokens.
    expect(last && weight(last) + 3 * 1_600).toBeLessThan(SMALL);
    expect(factsIn(contents(last?.messages ?? [])).size).toBe(21);
  }, 60_000);
});
