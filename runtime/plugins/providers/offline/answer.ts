import type { MemoryHit } from "../../../contracts/memory.ts";
import { NO_MODEL } from "../../../domain/offline-answer.ts";

/** The answer of an agent without a model: what memory holds about the question, and how to give the agent a model. */

export interface AnswerOptions {
  /** IANA time zone of the dates. */
  readonly timezone: string;
  /** The agent that answers. */
  readonly agent: string;
  /** Whether the node runs in a container: its configuration is changed where it was deployed from. */
  readonly inContainer: boolean;
  /** Whether the conversation has the hint about getting a model: once is enough. */
  readonly explained: boolean;
}

/** How to get a model, for the agent's owner. */
function howTo(agent: string, inContainer: boolean): string {
  const apply = inContainer ? "`cairn infra up` in the directory that it was deployed from" : "`cairn restart`";
  return (
    "To give me one, put its key into .env (ANTHROPIC_API_KEY or OPENAI_API_KEY, for example) and run " +
    `\`cairn provider anthropic --agent ${agent}\` (or \`openai\`); for a local model server, which needs no key, ` +
    `\`cairn provider ollama --model NAME --agent ${agent}\`. Then run ${apply}. In a source tree type ` +
    "`npm run -s cairn --` for `cairn`."
  );
}

const MOST_FINDS = 5;
const LONGEST_FIND = 240;

const NOTED = "Noted: what you write is kept in memory, and you can ask me for it later.";

/** Whether a message tells something, so that nothing is to be looked for: by its first words, in English. Pure. */
export function isStatement(text: string): boolean {
  return !isQuestion(text) && STATEMENT.test(text);
}

/**
 * Somebody who does something, or a request to remember, and words behind it; else a thing with a verb: without one it may be
 * what is looked for (`the boat we rented in May`).
 */
const STATEMENT = new RegExp(
  "^(?:please\\s+)?(?:" +
    "(?:i|we|you|he|she|it|they|there|remember|note|keep|save|store)(?:['\u2019](?:m|s|re|ve|d|ll))?(?:\\s+\\S+){2}|" +
    "(?:my|our|your|his|her|its|their|the|a|an|this|that|these|those)" +
    "(?:\\s+(?!(?:i|we|you|he|she|it|they|who|which|that|where|when)\\s)\\S+){0,6}?" +
    "(?:['\u2019]s|\\s+(?:is|are|was|were|has|had|will|lies|likes|lives|works|needs|wants))\\s+\\S)",
  "i",
);

export function compose(question: string, hits: readonly MemoryHit[], options: AnswerOptions): string {
  const finds = pickFinds(question, hits);
  const found =
    finds.length > 0
      ? `Here is what I remember:\n${finds.map((hit) => toLine(hit, question, options)).join("\n")}`
      : emptyHanded(question);
  return `${found}\n\n${NO_MODEL}${options.explained ? "" : ` ${howTo(options.agent, options.inContainer)}`}`;
}

/**
 * The hits worth showing, in the order of the search: no question that was asked before, nothing twice, and none of our
 * own earlier answers, which would only repeat what they once found.
 */
function pickFinds(question: string, hits: readonly MemoryHit[]): MemoryHit[] {
  const asked = wordsOf(question);
  const seen = new Set<string>();
  const statements: MemoryHit[] = [];
  const questions: MemoryHit[] = [];
  for (const hit of hits) {
    const text = hit.content.trim();
    const words = wordsOf(text);
    const key = [...words].join(" ");
    if (text === "" || key === "" || seen.has(key) || text.includes(NO_MODEL) || isSame(words, asked)) continue;
    seen.add(key);
    (text.endsWith("?") ? questions : statements).push(hit);
  }
  return [...statements, ...questions].slice(0, MOST_FINDS);
}

function emptyHanded(question: string): string {
  if (question === "") return "There is nothing to look for in an empty message.";
  return isQuestion(question) ? "I found nothing about that in memory." : NOTED;
}

function toLine(hit: MemoryHit, question: string, options: AnswerOptions): string {
  const who = hit.role === "assistant" ? "I said: " : hit.kind === "summary" ? "in short: " : "";
  return `- ${dateOf(hit.created_at, options.timezone)}: ${who}${excerpt(hit.content, wordsOf(question))}`;
}

/** The stretch of a text that has most of the words asked for: the whole text where it is short. */
function excerpt(content: string, asked: ReadonlySet<string>): string {
  const text = content.replace(/\s+/g, " ").trim();
  if (text.length <= LONGEST_FIND) return text;
  const sentences = text.split(/(?<=[.!?])\s+/);
  const hits = sentences.map((sentence) => [...wordsOf(sentence)].filter((word) => asked.has(word)).length);
  let start = hits.indexOf(Math.max(...hits));
  let piece = sentences[start] ?? text;
  for (start += 1; start < sentences.length; start += 1) {
    const longer = `${piece} ${sentences[start] ?? ""}`;
    if (longer.length > LONGEST_FIND) break;
    piece = longer;
  }
  return piece.length <= LONGEST_FIND ? piece : `${firstCharacters(piece, LONGEST_FIND - 3)}...`;
}

/** At most so many UTF-16 units, never half a character. */
function firstCharacters(text: string, length: number): string {
  const cut = text.slice(0, length);
  return cut.isWellFormed() ? cut : cut.slice(0, -1);
}

function dateOf(iso: string, timezone: string): string {
  const time = new Date(iso);
  if (Number.isNaN(time.getTime())) return "undated";
  // Sweden writes dates as ISO 8601 does.
  return new Intl.DateTimeFormat("sv-SE", { timeZone: timezone, dateStyle: "short" }).format(time);
}

function isQuestion(text: string): boolean {
  return (
    text.endsWith("?") ||
    /^(who|what|when|where|why|which|whose|how|do|does|did|is|are|was|were|can|could|find|show|tell|list|search|look)\b/i.test(
      text,
    )
  );
}

function wordsOf(text: string): Set<string> {
  return new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []);
}

/** The same words, give or take: the question itself, asked now or before. */
function isSame(words: ReadonlySet<string>, asked: ReadonlySet<string>): boolean {
  const shared = [...words].filter((word) => asked.has(word)).length;
  const all = words.size + asked.size - shared;
  return all > 0 && shared / all >= 0.8;
}
