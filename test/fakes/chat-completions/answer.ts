import type { RecordedRequest } from "../shared/script.ts";

/** The heading of an entry in a summarizer's input, wherever it stands. */
const ENTRY = /^\[#\d+ [^\]]*\][ \n]?(.*)$/gm;
/** Words of each entry that the answer repeats. */
const WORDS = 12;
/** A list of identifiers, under its heading. */
const LISTED = /^Identifiers[^\n]*:\n((?:- .+\n)+)/m;

/**
 * An answer that follows from the input alone: the beginning of every entry and every listed identifier, so that a test
 * sees what a model was shown; for an input without entries, its first words.
 */
export function answerFrom({ lastUser }: Pick<RecordedRequest, "lastUser">): string {
  const entries = [...lastUser.matchAll(ENTRY)].map(([, text = ""]) => head(text, WORDS));
  if (entries.length === 0) return `It was about ${head(lastUser, WORDS)}.`;
  const listed = [...(LISTED.exec(lastUser)?.[1] ?? "").matchAll(/^- (.+)$/gm)].map(
    ([, identifier = ""]) => identifier,
  );
  return [
    `${entries.length} entries were summarized.`,
    ...entries.map((entry) => `- ${entry}`),
    ...(listed.length === 0 ? [] : [`Identifiers: ${listed.join(", ")}`]),
  ].join("\n");
}

function head(text: string, words: number): string {
  return text.split(/\s+/, words).join(" ");
}
