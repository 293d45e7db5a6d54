import type { RecordedRequest } from "../shared/script.ts";

/** The heading of an entry in a summarizer's input. */
const HEADING = /^\[#\d+ ([^\]\n]*)\]\n/gm;
/** Words of each entry that the answer repeats: of a message, of a summary. */
const WORDS = { message: 12, summary: 80 } as const;
/** What was wrong with an answer before, below the entries. */
const OBJECTIONS = /\n\nAn earlier answer was not accepted:[\s\S]*$/;
/** A list of identifiers, under its heading. */
const LISTED = /^Identifiers[^\n]*:\n((?:- .+\n)+)/m;

/**
 * An answer that follows from the input alone: the beginning of every entry and every listed identifier, so that a test
 * sees what a model was shown; for an input without entries, its first words.
 */
export function answerFrom(request: Pick<RecordedRequest, "lastUser">): string {
  const lastUser = request.lastUser.replace(OBJECTIONS, "");
  const headings = [...lastUser.matchAll(HEADING)];
  if (headings.length === 0) return `It was about ${head(lastUser, WORDS.message)}.`;
  const entries = headings.map(({ index, 0: heading, 1: about = "" }, n) => {
    const body = lastUser.slice(index + heading.length, headings[n + 1]?.index);
    return head(body, about.includes(" summary/") ? WORDS.summary : WORDS.message);
  });
  const listed = [...(LISTED.exec(lastUser)?.[1] ?? "").matchAll(/^- (.+)$/gm)].map(([, one = ""]) => one);
  return [
    `${entries.length} entries were summarized.`,
    ...entries.map((entry) => `- ${entry}`),
    ...(listed.length === 0 ? [] : [`Identifiers: ${listed.join(", ")}`]),
  ].join("\n");
}

function head(text: string, words: number): string {
  return text.trim().split(/\s+/, words).join(" ");
}
