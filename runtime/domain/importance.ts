/** Which kind of message a text is, and how important that makes it (specification, "Short-term memory"). */

export type ImportanceType = "correction" | "preference" | "fact" | "task";

export const BASE_IMPORTANCE: Readonly<Record<ImportanceType, number>> = {
  correction: 0.9,
  preference: 0.8,
  fact: 0.6,
  task: 0.5,
};

/** Only the head decides: people say first what a message is about, and the cost stays bounded. */
const HEAD = 1_000;

const CORRECTION = [
  /^(?:no|nope|wrong|incorrect|not quite|correction)\b[,.:;! ]/i,
  /\b(?:that|this|it|which)(?:'s| is| was) (?:not|in)(?: ?correct| right| true| accurate)\b/i,
  /\b(?:that|this|it)(?:'s| is| was) (?:wrong|false|a mistake)\b/i,
  /\bi (?:meant|mis(?:spoke|typed)|was wrong|made a mistake)\b/i,
  /\b(?:i (?:said|asked for|told you)\b.{1,80}\bnot|you (?:got|had) (?:that|it|this) wrong|you(?:'re| are) (?:wrong|mistaken))\b/i,
  /^actually\b/i,
  /\bcorrection:/i,
];

const PREFERENCE = [
  /\b(?:i|we|(?:the )?user|he|she|they)(?:'d| would)?(?: (?:really|always|generally|usually|strongly|much|still))? (?:prefers?|likes?|loves?|hates?|dislikes?|can't stand|enjoys?)\b/i,
  /\b(?:my|our|(?:his|her|their)) (?:favou?rite|preferred|preference)\b/i,
  /\b(?:from now on|in (?:the )?future|going forward)\b/i,
  /\b(?:please )?(?:always|never|don't ever|do not ever) (?:use|call|write|send|answer|reply|respond|ask|include|add|put|say|show|give|make|start|commit|run)\b/i,
  /\bi (?:want|need|expect) you to (?:always|never)\b/i,
  /\b(?:rather|sooner) than\b.{0,60}\bplease\b/i,
];

const TASK = [
  /\b(?:to-?do|action item|deadline|due (?:by|on|date))\b/i,
  /\b(?:remind|notify|ping) (?:me|us)\b/i,
  /\b(?:i|we|you) (?:need|have|ought|plan|intend) to\b/i,
  /\b(?:i|we)(?:'ll| will| must| should)\b/i,
  /\b(?:can|could|would|will) you(?: please)?\b/i,
  /\bplease \w+/i,
  /\blet's\b/i,
  /^(?:add|build|call|change|check|clean up|create|deploy|do|draft|email|find|finish|fix|implement|install|make|merge|move|order|prepare|remove|rename|review|run|schedule|send|set up|test|update|write)\b/i,
];

/** The first kind, in the order correction, preference, task, that the text shows; else a fact. */
export function classify(text: string): ImportanceType {
  const head = text.slice(0, HEAD).trim();
  if (CORRECTION.some((pattern) => pattern.test(head))) return "correction";
  if (PREFERENCE.some((pattern) => pattern.test(head))) return "preference";
  if (TASK.some((pattern) => pattern.test(head))) return "task";
  return "fact";
}

/** Base importance of a text by its kind, 0.5 to 0.9. */
export function importanceOf(text: string): number {
  return BASE_IMPORTANCE[classify(text)];
}
