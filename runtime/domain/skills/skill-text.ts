/**
 * Skills as a model reads them. They are the operator's or the owner's words, and so instructions; like every text they are
 * bounded, hold nothing that is not seen and no tokens of chat templates.
 */

import type { Skill } from "../../contracts/skill.ts";
import { promptText, withoutChatTokens, withoutFence, withoutUnseen } from "../prompt-data.ts";

/** UTF-16 units of the list in a prompt; of a description where the list would be longer. */
const MAX_LIST = 12_000;
const SHORT_DESCRIPTION = 160;
/** UTF-16 units of a file. */
export const MAX_FILE_TEXT = 60_000;
const TAG = "skill";

/** The part of the stable head of a prompt; empty without skills. */
export function skillsPrompt(skills: readonly Skill[]): string {
  if (skills.length === 0) return "";
  return `You have skills, which say how to do certain tasks. Before you do what one of them is for, read it with skill_list and its name, unless it is shown to you already.
${boundedList(skills)}`;
}

/** A line a skill; where they are too many, the last ones are counted. */
export function boundedList(skills: readonly Skill[]): string {
  const whole = skills.map((skill) => listLine(skill));
  const lines = lengthOf(whole) <= MAX_LIST ? whole : skills.map((skill) => listLine(skill, SHORT_DESCRIPTION));
  const kept: string[] = [];
  let length = 0;
  for (const line of lines) {
    length += line.length + 1;
    if (length > MAX_LIST) break;
    kept.push(line);
  }
  const more = lines.length - kept.length;
  return [...kept, ...(more > 0 ? [`(${more} more skills, whose names are after these)`] : [])].join("\n");
}

/** A skill that was loaded; nothing in it ends its tags. */
export function skillBlock({ name, source, body }: Pick<Skill, "name" | "source" | "body">): string {
  const whose = source === "skill_dirs" ? "of the operator" : "of the workspace";
  const text = withoutFence(cleanText(body), TAG).trim();
  return `<${TAG} name="${name}" from="${whose}">\n${text === "" ? "(nothing)" : text}\n</${TAG}>`;
}

/** A file's text without what is not seen, cut at its bound. */
export function fileText(text: string): string {
  const clean = cleanText(text);
  if (clean.length <= MAX_FILE_TEXT) return clean;
  return `${clean.slice(0, MAX_FILE_TEXT).toWellFormed()}\n(cut: ${clean.length - MAX_FILE_TEXT} more characters)`;
}

/** Tabs stay: scripts and tables hold them. */
function cleanText(text: string): string {
  return withoutChatTokens(withoutUnseen(text.replace(/\r\n?/g, "\n")));
}

function listLine({ name, description, triggers }: Skill, limit = Number.POSITIVE_INFINITY): string {
  const words = oneLine(description);
  const short = words.length > limit ? `${words.slice(0, limit).toWellFormed()}...` : words;
  const when = triggers.length === 0 ? "" : ` (triggers: ${triggers.map(oneLine).join(", ")})`;
  return `- ${name}: ${short}${when.length > limit ? "" : when}`;
}

function oneLine(text: string): string {
  return promptText(text).replace(/\s+/g, " ").trim();
}

function lengthOf(lines: readonly string[]): number {
  return lines.reduce((sum, line) => sum + line.length + 1, 0);
}
