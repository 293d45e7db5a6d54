/**
 * The steps of a setup as a list that follows from the answers so far: which one comes next, and which one was before. A person,
 * a file of answers and the defaults take the same path; so the same answers make the same files. Pure.
 */
import {
  type AnswerLeaf,
  type AnswerTree,
  answerAt,
  answerLeaves,
  dependentsOf,
  listKey,
  withAnswer,
  withEntries,
} from "../answer-tree.ts";
import { type Answers, PHASES, type Phase } from "../answers.ts";
import { seenFromNode } from "../detect/seen-from-node.ts";
import { parseAnswers } from "../parse-answers.ts";
import { secretsOf } from "../secrets.ts";
import { agentQuestions } from "./agents.ts";
import { channelQuestions } from "./channels.ts";
import { deploymentQuestions } from "./deployment.ts";
import { idOf, type PhaseInput, type Question, type SecretQuestion } from "./question.ts";

export interface FlowState {
  readonly tree: AnswerTree;
  /** Ids of the steps that need not be asked, or not again. */
  readonly answered: ReadonlySet<string>;
}

export type Surroundings = Omit<PhaseInput, "answers">;

export type Step = { readonly id: string; readonly phase: Phase } & (
  | { readonly kind: "question"; readonly question: Question }
  /** What is typed is in no state: it is kept nowhere but in memory until it is written into `.env`. */
  | { readonly kind: "secret"; readonly secret: SecretQuestion }
);

/** No answer's path begins like that. */
const SECRET = ".env:";
const SECRETS_PHASE: Phase = "channels";

const QUESTIONS: { readonly [P in Phase]: (input: PhaseInput) => Question[] } = {
  deployment: deploymentQuestions,
  agents: agentQuestions,
  channels: channelQuestions,
};

export function questionsOf(phase: Phase, input: PhaseInput): Question[] {
  return QUESTIONS[phase](input);
}

/** All steps that these answers lead to, in their order, asked already or not. CONFIG_INVALID for an answer that is not allowed. */
export function stepsOf(state: FlowState, around: Surroundings): readonly Step[] {
  const answers = answersOf(state);
  const facts = seenFromNode(around.facts, answers.deployment);
  const questions = PHASES.flatMap((phase) =>
    questionsOf(phase, { ...around, facts, answers }).map(
      (question): Step => ({ kind: "question", id: idOf(question), phase, question }),
    ),
  );
  const secrets = secretsOf(answers)
    .filter(({ variable }) => !around.env[variable])
    .map((secret): Step => ({ kind: "secret", id: `${SECRET}${secret.variable}`, phase: SECRETS_PHASE, secret }));
  return [...questions, ...secrets];
}

/** The first step that is open; null when all is answered. */
export function nextStep(state: FlowState, around: Surroundings): Step | null {
  return stepsOf(state, around).find(({ id }) => !state.answered.has(id)) ?? null;
}

/**
 * The state in which the step before the open one is open, too; its answer stays in the tree and is what is offered. Steps of
 * `given` were answered by a file or by flags, and are passed over. Null where there is none before.
 */
export function stateBefore(state: FlowState, around: Surroundings, given: ReadonlySet<string>): FlowState | null {
  const steps = stepsOf(state, around);
  const at = steps.findIndex(({ id }) => !state.answered.has(id));
  const before = steps.slice(0, at < 0 ? steps.length : at).findLast(({ id }) => !given.has(id));
  if (before === undefined) return null;
  return { tree: state.tree, answered: new Set([...state.answered].filter((id) => id !== before.id)) };
}

/** The state after an answer; undefined: there is none. That of a secret is not part of it. */
export function stateAfter(state: FlowState, step: Step, value: unknown): FlowState {
  if (step.kind === "question") return answerQuestion(state, step.question, value);
  return { tree: state.tree, answered: new Set([...state.answered, step.id]) };
}

/** The state of a phase that is to be asked again. */
export function reopened(phase: Phase, { tree, answered }: FlowState): FlowState {
  const ofPhase = (id: string): boolean => {
    if (isSecretStep(id)) return phase === SECRETS_PHASE;
    const leaf = answerLeaves().find((one) => matches(one, id.split(".")));
    return leaf?.phase === phase;
  };
  return { tree, answered: new Set([...answered].filter((id) => !ofPhase(id))) };
}

/** What a draft must not hold as answered: the value is not in it. */
export function isSecretStep(id: string): boolean {
  return id.startsWith(SECRET);
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

/** The step of one entry of a mapping is one of the mapping's. */
function matches({ path: pattern, form }: AnswerLeaf, path: readonly string[]): boolean {
  return (
    (form === "pairs" ? pattern.length <= path.length : pattern.length === path.length) &&
    pattern.every((part, index) => part === "*" || part === path[index])
  );
}
