/**
 * Phase 4 of a setup: the chat platforms, whose they are, and who answers there. None is offered:
 * what flags (`--channel telegram`), answers or the configuration name is asked about. Pure.
 */
import type { PhaseInput, Question } from "./question.ts";

export function channelQuestions({ answers }: PhaseInput): Question[] {
  const { channels, agents } = answers;
  const questions: Question[] = [];
  for (const { id, token_variable, owner_id, bindings } of channels) {
    const about = { channel: id };
    const at = (key: string): string[] => ["channels", id, key];
    const variable = token_variable ?? `${id.toUpperCase()}_TOKEN`;
    questions.push(
      { kind: "input", path: at("token_variable"), about, default: variable, required: true },
      { kind: "input", path: at("owner_id"), about, default: owner_id, required: true },
    );
    if (agents.length > 1 || bindings !== undefined)
      questions.push({ kind: "pairs", path: at("bindings"), about, default: bindings ?? {} });
  }
  return questions;
}
