/**
 * Conversations that look like real ones to a database: words by Zipf's law, a topic for each conversation, stop words,
 * identifiers, and lengths that vary. The same seed gives the same text.
 */

export interface CorpusOptions {
  readonly messages: number;
  readonly seed?: number;
  /** Messages of one conversation. */
  readonly conversationLength?: number;
  /** Number of agents; the first has about half of the conversations, each further one half of the one before. */
  readonly agents?: number;
}

export interface CorpusMessage {
  /** Number of the conversation, from 0. */
  readonly conversation: number;
  readonly agent: string;
  readonly role: "user" | "assistant";
  readonly content: string;
  /** Milliseconds before the newest message. */
  readonly ageMs: number;
}

export interface Corpus {
  messages(): Generator<CorpusMessage>;
  /** A question about a conversation: some words of its topic, some common ones, stop words. */
  question(n: number): string;
  /** The word with this rank; 0 is the most frequent one. */
  word(rank: number): string;
}

const VOCABULARY = 60_000;
/** Exponent of Zipf's law; English is near 1. */
const SKEW = 1.02;
const TOPIC_WORDS = 60;
const TOPIC_SHARE = 0.25;
const STOP_SHARE = 0.42;
const IDENTIFIER_SHARE = 0.06;
const BETWEEN_MESSAGES_MS = 40_000;

const SYLLABLES =
  "ba be bi bo bu da de di do du fa fe fi fo ga ge gi go ka ke ki ko ku la le li lo lu ma me mi mo mu na ne ni no nu pa pe pi po ra re ri ro ru sa se si so ta te ti to tu va ve vi vo wa we za ze zo";
const STOP_WORDS =
  "the a an and or but to of in on at for with it is was are be been i you he she we they this that there what when where who how not do did have has had would will can just about from my your our so if then as by out up very too";

export function createCorpus(options: CorpusOptions): Corpus {
  const { messages, seed = 1, conversationLength = 40, agents = 8 } = options;
  const syllables = SYLLABLES.split(" ");
  const stops = STOP_WORDS.split(" ");
  const cumulative = zipf(VOCABULARY);

  const word = (rank: number): string => {
    // Frequent words are short; a number in base 65 is unique, and its digits are mixed so that neighbours differ.
    let rest = rank < 4_000 ? 65 + rank : 4_225 + ((rank * 40_503) % 270_400);
    let text = "";
    while (rest > 0) {
      text = `${syllables[rest % syllables.length] ?? ""}${text}`;
      rest = Math.floor(rest / syllables.length);
    }
    return `${text}${"ndrkx"[rank % 5] ?? ""}`;
  };

  const agentOf = (conversation: number): string => {
    const random = generator(seed * 7_919 + conversation);
    let agent = 0;
    while (agent < agents - 1 && random() > 0.5) agent += 1;
    return agent === 0 ? "main" : `agent-${agent}`;
  };

  const topicOf = (conversation: number): number[] => {
    const random = generator(seed * 104_729 + conversation);
    return Array.from({ length: TOPIC_WORDS }, () => 200 + Math.floor(random() ** 2 * (VOCABULARY - 200)));
  };

  const drawn = (random: () => number): string => word(find(cumulative, random()));

  function contentOf(random: () => number, topic: readonly number[]): string {
    // Most are short, some are long.
    const length = Math.max(3, Math.round(Math.exp(2.6 + 0.8 * normal(random))));
    const words = Array.from({ length }, () => {
      const dice = random();
      if (dice < STOP_SHARE) return stops[Math.floor(random() * stops.length)] ?? "";
      if (dice < STOP_SHARE + TOPIC_SHARE) return word(topic[Math.floor(random() ** 1.5 * topic.length)] ?? 0);
      return drawn(random);
    });
    if (random() < IDENTIFIER_SHARE) words.splice(Math.floor(random() * length), 0, identifier(random));
    return `${words.join(" ")}.`;
  }

  return {
    word,
    *messages() {
      for (let n = 0; n < messages; n += 1) {
        const conversation = Math.floor(n / conversationLength);
        const random = generator(seed * 15_485_863 + n);
        yield {
          conversation,
          agent: agentOf(conversation),
          role: n % 2 === 0 ? "user" : "assistant",
          content: contentOf(random, topicOf(conversation)),
          ageMs: (messages - n) * BETWEEN_MESSAGES_MS,
        };
      }
    },
    question(n) {
      const random = generator(seed * 32_452_843 + n);
      const topic = topicOf(Math.floor((random() * messages) / conversationLength));
      const own = Array.from({ length: 2 + Math.floor(random() * 3) }, () =>
        word(topic[Math.floor(random() ** 1.5 * topic.length)] ?? 0),
      );
      const common = Array.from({ length: 1 + Math.floor(random() * 4) }, () => drawn(random));
      return `when did the ${[...own, ...common].join(" ")} and what was it?`;
    },
  };
}

function identifier(random: () => number): string {
  const number = (below: number) => Math.floor(random() * below);
  switch (number(4)) {
    case 0:
      return `node-${number(400)}`;
    case 1:
      return `v${number(9)}.${number(30)}.${number(30)}`;
    case 2:
      return number(2 ** 30)
        .toString(16)
        .padStart(7, "0");
    default:
      return `src/app/part${number(300)}/file${number(100)}.ts`;
  }
}

/** Cumulative shares of the ranks. */
function zipf(size: number): Float64Array {
  const cumulative = new Float64Array(size);
  let sum = 0;
  for (let rank = 0; rank < size; rank += 1) {
    sum += 1 / (rank + 2.7) ** SKEW;
    cumulative[rank] = sum;
  }
  return cumulative.map((value) => value / sum);
}

/** Index of the first value that is at least `wanted`. */
function find(cumulative: Float64Array, wanted: number): number {
  let low = 0;
  let high = cumulative.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((cumulative[middle] ?? 1) < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

function normal(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

/** Numbers from 0 up to 1; small and quick (mulberry32). */
function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
