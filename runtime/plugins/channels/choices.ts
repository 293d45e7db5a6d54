/** What a question offers to choose from on a chat platform: as buttons, and as the commands that say the same in words. */

import { approvalCode } from "../../contracts/approvals.ts";
import type { WaitingQuestion } from "../../contracts/stream.ts";
import type { ChatCommand } from "./chat-messages.ts";

export interface Choice {
  readonly label: string;
  /** What somebody types instead. */
  readonly line: string;
  /** Of a button. It names the question, which may not be the one that waits by the time that it is pressed. */
  readonly value: string;
}

const DECISIONS = {
  approve: { label: "Approve", line: (id: string) => `/approve ${id}` },
  deny: { label: "Deny", line: (id: string) => `/deny ${id}` },
  always: { label: "Always, for exactly this", line: (id: string) => `/approve ${id} always` },
} as const;

/** Empty where any text will do. */
export function choicesOf({ id, choices, approval }: WaitingQuestion): readonly Choice[] {
  if (approval !== undefined) {
    return Object.entries(DECISIONS).map(([key, { label, line }]) => ({
      label,
      line: line(approvalCode(id)),
      value: `decide:${id}:${key}`,
    }));
  }
  return [...new Set(choices)].map((choice) => ({
    label: choice,
    line: `/answer ${choice}`,
    value: `answer:${id}:${choice}`,
  }));
}

/** A message alone is a new one: it answers no question and decides nothing. */
export function howToAnswer(question: WaitingQuestion): string {
  const lines = choicesOf(question).map(({ line }) => line);
  const all = lines.length === 0 ? ["/answer TEXT"] : lines;
  return `${question.approval === undefined ? "Answer with" : decideUntil(question)}\n${all.join("\n")}`;
}

export function decideUntil({ expires_at }: WaitingQuestion): string {
  return `Decide until ${expires_at.slice(0, 16).replace("T", " ")} UTC, or it is refused:`;
}

export interface PressedChoice extends Pick<ChatCommand, "line" | "question"> {
  readonly label: string;
}

/** What a button says that was pressed. */
export function pressedChoice(value: unknown): PressedChoice | undefined {
  const [, what, id, choice] = (typeof value === "string" && /^(answer|decide):([\w-]+):(.+)$/s.exec(value)) || [];
  if (id === undefined || choice === undefined) return undefined;
  if (what === "answer") return { line: `/answer ${choice}`, question: id, label: choice };
  const decision = Object.entries(DECISIONS).find(([key]) => key === choice)?.[1];
  return decision && { line: decision.line(id), label: decision.label };
}
