/** Which lines of a model's answer become statements of a page, and which are refused. */

import { holdsActive } from "../active-text.ts";
import { holdsLatex } from "../latex.ts";
import { unknownName } from "../synthesis/sentence.ts";

export interface Topic {
  readonly title: string;
  readonly statements: readonly string[];
}

export interface Extract {
  readonly topics: readonly Topic[];
  /** Lines that were not taken, with the reason; empty where all was well. */
  readonly refused: readonly { readonly line: string; readonly reason: string }[];
}

export interface ExtractGiven {
  readonly answer: string;
  /** The reference that the prompt gave; every other one does not exist. */
  readonly reference: string;
  /** What it was shown. */
  readonly source: string;
  readonly redact: (text: string) => string;
}

/** The model's answer where a text has nothing that lasts. */
export const NOTHING = "NOTHING";

const MOST_TOPICS = 12;
const MOST_STATEMENTS = 30;
const LONGEST_TITLE = 80;
const LONGEST_STATEMENT = 500;
/** A longer line is skipped: the patterns below take quadratic time. */
const LONGEST_LINE = 2_000;
const HEADING = /^#{1,3}\s+(.+?)\s*#*$/;
const BULLET = /^[-*]\s+(.+?)\s*((?:\[[^\]\s]+\][.,;]?\s*)*)$/;

export function readExtract({ answer, reference, source, redact }: ExtractGiven): Extract {
  const topics = new Map<string, string[]>();
  const refused: { line: string; reason: string }[] = [];
  let current: string[] | null = null;
  for (const raw of answer.split(/\r?\n/)) {
    const line = raw.trim();
    if (line === "" || line === NOTHING) continue;
    if (line.length > LONGEST_LINE) {
      refused.push({ line: line.slice(0, LONGEST_STATEMENT), reason: "it is too long" });
      continue;
    }
    const heading = HEADING.exec(line)?.[1];
    if (heading !== undefined) {
      const title = cleanTitle(heading);
      const reason = wrongTitle(title, topics.size, redact);
      if (reason !== null) refused.push({ line, reason });
      current = reason === null ? (topics.get(title) ?? []) : null;
      if (current !== null) topics.set(title, current);
      continue;
    }
    const found = BULLET.exec(line);
    const text = (found?.[1] ?? "").trim();
    const reason =
      found === null
        ? "it is neither a title nor a statement"
        : current === null
          ? "it stands under no title"
          : current.length >= MOST_STATEMENTS
            ? "there are too many statements"
            : wrongStatement(text, found[2] ?? "", { reference, source, redact });
    if (reason !== null) refused.push({ line, reason });
    else current?.push(text);
  }
  return {
    topics: [...topics]
      .filter(([, statements]) => statements.length > 0)
      .map(([title, statements]) => ({ title, statements })),
    refused,
  };
}

function cleanTitle(heading: string): string {
  return heading
    .replace(/[*_`<>]/g, "")
    .replace(/\s+/g, " ")
    .trim();
}

function wrongTitle(title: string, topics: number, redact: (text: string) => string): string | null {
  if (!/[\p{L}\p{N}]/u.test(title) || title.length > LONGEST_TITLE) return "it is no title";
  if (topics >= MOST_TOPICS) return "there are too many topics";
  return redact(title) === title ? null : "it holds a secret";
}

function wrongStatement(text: string, references: string, given: Omit<ExtractGiven, "answer">): string | null {
  const named = [...references.matchAll(/\[([^\]\s]+)\]/g)].map(([, name = ""]) => name);
  if (named.length === 0) return "it names no source";
  const unknown = named.find((name) => name !== given.reference);
  if (unknown !== undefined) return `its source ${unknown} does not exist`;
  if (text.length < 3 || text.length > LONGEST_STATEMENT) return "it is too short or too long";
  if (/<!--|-->|\[summary:/.test(text)) return "it holds a mark of the page";
  if (holdsActive(text)) return "it holds a link, a picture or HTML";
  if (holdsLatex(text)) return "it holds LaTeX";
  if (given.redact(text) !== text) return "it holds a secret";
  const name = unknownName(text, given.source);
  return name === null ? null : `it names ${name}, which does not occur in the source`;
}
