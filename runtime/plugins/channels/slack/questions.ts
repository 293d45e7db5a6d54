/** Questions of agents: a button for each choice, or how to answer in words. */

import type { KnownBlock } from "@slack/web-api";
import type { WaitingQuestion } from "../../../contracts/stream.ts";
import { isRecord } from "../../../contracts/values.ts";
import type { Content } from "./api.ts";

/** Buttons of a block, characters of a button's text and of its value (Block Kit). */
const MOST_CHOICES = 25;
const MOST_LABEL = 75;
const MOST_VALUE = 2_000;

/** A message of its own; undefined where the choices are no buttons. */
export function buttons(question: WaitingQuestion): Content | undefined {
  const choices = [...new Set(question.choices)];
  const valueFor = (choice: string): string => `answer:${question.id}:${choice}`;
  if (choices.length === 0 || choices.length > MOST_CHOICES) return undefined;
  const isTooLong = (choice: string): boolean => choice.length > MOST_LABEL || valueFor(choice).length > MOST_VALUE;
  if (choices.some((choice) => choice.trim() === "" || isTooLong(choice))) return undefined;
  const text = "Choose an answer, or write !answer TEXT.";
  const blocks: KnownBlock[] = [
    { type: "section", text: { type: "plain_text", text } },
    {
      type: "actions",
      elements: choices.map((choice, index) => ({
        type: "button",
        action_id: `answer-${index}`,
        text: { type: "plain_text", text: choice, emoji: false },
        value: valueFor(choice),
      })),
    },
  ];
  return { text, blocks };
}

/** A message alone is a new one: it answers no question. */
export function howToAnswer({ choices }: WaitingQuestion): string {
  const lines = choices.length === 0 ? ["!answer TEXT"] : choices.map((choice) => `!answer ${choice}`);
  return `Answer with\n${lines.join("\n")}`;
}

export interface Answer {
  readonly line: string;
  /** Which may not be the one that waits by then. */
  readonly question: string;
  readonly choice: string;
}

/** What a button says that was pressed. */
export function answerOf(action: unknown): Answer | undefined {
  const value = isRecord(action) ? action["value"] : undefined;
  const [, question, choice] = (typeof value === "string" && /^answer:([\w-]+):(.+)$/s.exec(value)) || [];
  if (question === undefined || choice === undefined) return undefined;
  return { line: `/answer ${choice}`, question, choice };
}
