/**
 * Asks the questions of the phases, one after the other: which one comes next follows from the answers so far. A person, a
 * file of answers and the defaults take the same path; so the same answers make the same files.
 */
import {
  type AnswerLeaf,
  type AnswerTree,
  answerAt,
  answerLeaves,
  dependentsOf,
  leafAt,
  listKey,
  withAnswer,
  withEntries,
} from "../answer-tree.ts";
import type { Answers, Phase } from "../answers.ts";
import { parseAnswers } from "../parse-answers.ts";
import { agentQuestions } from "./agents.ts";
import { channelQuestions } from "./channels.ts";
import { deploymentQuestions } from "./deployment.ts";
import { idOf, type PhaseInput, type Question } from "./question.ts";

export interface FlowState {
  readonly tree: AnswerTree;
  /** Ids of the questions that need not be asked, or not again. */
  readonly answered: ReadonlySet<string>;
}

export type Surroundings = Omit<PhaseInput, "answers">;

export interface FlowOptions {
  readonly around: Surroundings;
  /** Undefined: there is no answer. */
  readonly answer: (question: Question, leaf: AnswerLeaf) => Promise<unknown>;
  /** Called with each new state, before the next question. */
  readonly onAnswer?: (state: FlowState) => Promise<void>;
}

const QUESTIONS: { readonly [P in Phase]: (input: PhaseInput) => Question[] } = {
  deployment: deploymentQuestions,
  agents: agentQuestions,
  channels: channelQuestions,
};

export function questionsOf(phase: Phase, input: PhaseInput): Question[] {
  return QUESTIONS[phase](input);
}

/** CONFIG_INVALID for an answer that is not allowed; whatever `answer` rejects with. */
export async function runPhase(phase: Phase, state: FlowState, options: FlowOptions): Promise<FlowState> {
  const leaves = answerLeaves();
  let current = state;
  for (;;) {
    const questions = questionsOf(phase, { ...options.around, answers: parseAnswers(current.tree) });
    const next = questions.find((question) => !current.answered.has(idOf(question)));
    if (next === undefined) return current;
    const value = await options.answer(next, leafAt(leaves, next.path));
    current = answerQuestion(current, next, value);
    await options.onAnswer?.(current);
  }
}

/** The state of a phase that is to be asked again. */
export function reopened(phase: Phase, { tree, answered }: FlowState): FlowState {
  const ofPhase = (id: string): boolean => {
    const leaf = answerLeaves().find((one) => matches(one.path, id.split(".")));
    return leaf?.phase === phase;
  };
  return { tree, answered: new Set([...answered].filter((id) => !ofPhase(id))) };
}

export function answersOf({ tree }: FlowState): Answers {
  return parseAnswers(tree);
}

function answerQuestion({ tree, answered }: FlowState, question: Question, value: unknown): FlowState {
  const after =
    listKey(question.path) !== null && Array.isArray(value)
      ? withEntries(tree, question.path, value.map(String))
      : withAnswer(tree, question.path, value);
  const former = answerAt(tree, question.path);
  // What was settled for another provider or another host is open again.
  const open =
    former === undefined || former === value ? [] : dependentsOf(question.path).map((path) => path.join("."));
  return { tree: after, answered: new Set([...answered, idOf(question)].filter((id) => !open.includes(id))) };
}

function matches(pattern: readonly string[], path: readonly string[]): boolean {
  return pattern.length === path.length && pattern.every((part, index) => part === "*" || part === path[index]);
}
