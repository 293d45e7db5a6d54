/**
 * The conversation of a setup: one step after the other, back and forth, until what they make is to be written. Which step comes
 * is decided by phases/flow.ts; how a question looks, by the dialog.
 */
import { CairnError } from "../../runtime/contracts/errors.ts";
import { Interrupted } from "../output/failure.ts";
import { answerLeaves, leafAt } from "./answer-tree.ts";
import { type Answers, PHASES, type Phase } from "./answers.ts";
import { BACK, type Back, type Dialog, type Unattended, unattended } from "./dialog.ts";
import { saveDraft } from "./draft.ts";
import {
  answersOf,
  type FlowState,
  nextStep,
  reopened,
  type Step,
  type Surroundings,
  stateAfter,
  stateBefore,
} from "./phases/flow.ts";
import type { PreparedSetup } from "./plan-setup.ts";

/** What other answers can put right. */
const CORRECTABLE: readonly string[] = ["CONFIG_INVALID", "INFRA_PLAN_INVALID"];

export interface Conversation {
  readonly dir: string;
  readonly start: FlowState;
  /** Ids of the steps that a file or flags have answered: nobody was asked, so nobody is led back to them. */
  readonly given: ReadonlySet<string>;
  readonly around: Surroundings;
  readonly attempt: (state: FlowState, typed: ReadonlyMap<string, string>) => Promise<PreparedSetup>;
}

/** Interrupted where the person leaves; the errors of `attempt` that no other answers would put right. */
export async function converse(
  dialog: Dialog | Unattended,
  { dir, start, given: givenFirst, around, attempt }: Conversation,
): Promise<PreparedSetup> {
  const typed = new Map<string, string>();
  let state = start;
  let given = givenFirst;
  const goBack = (): void => {
    // Before the first question there is nothing: it is asked again.
    state = stateBefore(state, around, given) ?? state;
  };
  /** Phases that are passed over have their heading, too: the numbers in them are steps. */
  const announce = async (until: Phase | null): Promise<void> => {
    for (const phase of PHASES) {
      if (phase === until) return dialog.begin(phase, true);
      await dialog.begin(phase, false);
    }
  };
  for (;;) {
    const step = nextStep(state, around);
    if (step !== null) {
      await announce(step.phase);
      const value = await ask(dialog, step, typed);
      if (value === BACK) {
        goBack();
        continue;
      }
      state = stateAfter(state, step, value);
      // Without a draft an interrupted setup starts anew; it is no reason to stop this one.
      if (dialog.attended) await saveDraft(dir, state, new Date()).catch(() => undefined);
      continue;
    }
    if ("complete" in dialog) dialog.complete();
    await announce(null);
    const prepared = await attempt(state, typed).catch((error: unknown) => {
      if (error instanceof CairnError && CORRECTABLE.includes(error.code)) return error;
      throw error;
    });
    const decision = await decide(dialog, prepared);
    if (decision === "write" && !(prepared instanceof CairnError)) return prepared;
    if (decision === BACK) goBack();
    else if (decision === "write" || decision === "leave") throw new Interrupted("SIGINT");
    else state = reopened(decision, state);
    // What is to be asked again may be what a flag had answered.
    given = new Set([...given].filter((id) => state.answered.has(id)));
  }
}

/** The answers where nobody is asked: what is usual for each. */
export async function usualFrom(start: FlowState, around: Surroundings): Promise<Answers> {
  const nobody = unattended({ lenient: true });
  let state = start;
  for (;;) {
    const step = nextStep(state, around);
    if (step === null) return answersOf(state);
    state = stateAfter(state, step, await ask(nobody, step, new Map()));
  }
}

/** The answer, which is no secret's: that one is put into `typed`. */
async function ask(dialog: Dialog, step: Step, typed: Map<string, string>): Promise<unknown> {
  if (step.kind === "question") return dialog.answer(step.question, leafAt(answerLeaves(), step.question.path));
  const { variable } = step.secret;
  const value = await dialog.secret(step.secret, typed.has(variable));
  if (value === BACK) return BACK;
  if (value !== undefined && value !== "") typed.set(variable, value);
  return undefined;
}

async function decide(dialog: Dialog, prepared: PreparedSetup | CairnError): Promise<"write" | "leave" | Phase | Back> {
  if (prepared instanceof CairnError) return dialog.refused(prepared);
  return prepared.review === null ? "write" : dialog.review(prepared.review);
}
