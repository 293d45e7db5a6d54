/** Questions of agents: a button for each choice, or how to answer in words. */

import type { KnownBlock } from "@slack/web-api";
import type { WaitingQuestion } from "../../../contracts/stream.ts";
import { choicesOf, decideUntil, howToAnswer } from "../choices.ts";
import type { Content } from "./api.ts";
import { asTyped } from "./text.ts";

/** Buttons of a block, characters of a button's text and of its value (Block Kit). */
const MOST_CHOICES = 25;
const MOST_LABEL = 75;
const MOST_VALUE = 2_000;

/** A message of its own; undefined where the choices are no buttons. */
export function buttons(question: WaitingQuestion): Content | undefined {
  const choices = choicesOf(question);
  if (choices.length === 0 || choices.length > MOST_CHOICES) return undefined;
  if (choices.some(({ label, value }) => label.trim() === "" || label.length > MOST_LABEL || value.length > MOST_VALUE))
    return undefined;
  const text =
    question.approval === undefined
      ? "Choose an answer, or write !answer TEXT."
      : asTyped(`${decideUntil(question)} choose, or write one of\n${choices.map(({ line }) => line).join("\n")}`);
  const blocks: KnownBlock[] = [
    { type: "section", text: { type: "plain_text", text } },
    {
      type: "actions",
      elements: choices.map(({ label, value }, index) => ({
        type: "button",
        action_id: `answer-${index}`,
        text: { type: "plain_text", text: label, emoji: false },
        value,
      })),
    },
  ];
  return { text, blocks };
}

export function typedAnswer(question: WaitingQuestion): string {
  return asTyped(howToAnswer(question));
}
