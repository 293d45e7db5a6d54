/** Answers the questions of a setup: a person at a terminal, or else the defaults. */
import type { CairnError } from "../../runtime/contracts/errors.ts";
import { UsageError } from "../output/failure.ts";
import type { AnswerLeaf } from "./answer-tree.ts";
import type { Phase } from "./answers.ts";
import type { Facts } from "./detect/facts.ts";
import type { Question, SecretQuestion } from "./phases/question.ts";

/** What would be written, for the operator to review. */
export interface Review {
  readonly dir: string;
  /** A unified diff where there is a configuration, else the new one. Without secrets. */
  readonly text: string;
  readonly isDiff: boolean;
  /** Files beside cairn.yaml that would be written, relative to the directory. */
  readonly files: readonly string[];
  /** Names of the variables that go into `.env`. */
  readonly secrets: readonly string[];
  readonly notes: readonly string[];
}

/** In place of an answer: the question before shall be asked again. */
export const BACK = Symbol("back");
export type Back = typeof BACK;

export interface Dialog {
  /** Phases with a person: the answers are kept in a draft, and what would be written is shown first. */
  readonly attended: boolean;
  found(facts: Facts, dir: string, existing: boolean): Promise<void>;
  /** Before each question, with all phases before its own: what is on the screen already is not said again. `asks` is false where all of
   * the phase is answered, or nothing belongs to it. */
  begin(phase: Phase, asks: boolean): Promise<void>;
  /** Undefined: there is no answer. BACK: the question before. */
  answer(question: Question, leaf: AnswerLeaf): Promise<unknown>;
  /** `typed`: one was typed before, and an empty answer keeps it. Undefined: it is written into `.env` later. */
  secret(question: SecretQuestion, typed: boolean): Promise<string | undefined | Back>;
  /** Whether to continue with the answers of an interrupted setup. */
  resume(savedAt: Date): Promise<boolean>;
  /** What the answers make cannot be written: what is to be answered again. */
  refused(reason: CairnError): Promise<"leave" | Phase | Back>;
  /** `leave`: nothing is written. */
  review(review: Review): Promise<"write" | "leave" | Phase | Back>;
}

export interface Unattended extends Dialog {
  /** UsageError that names all flags that are needed, if any is. */
  complete(): void;
}

/**
 * Takes what is usual for an answer. `lenient` is `--yes`: only what nothing is usual for has to be given. Otherwise every
 * question needs its flag.
 */
export function unattended({ lenient }: { readonly lenient: boolean }): Unattended {
  const missing = new Set<string>();
  return {
    attended: false,
    found: async () => {},
    begin: async () => {},
    async answer(question, leaf) {
      const usual = "default" in question ? question.default : undefined;
      const needed = question.kind === "host-key" || (question.kind === "input" && question.required);
      if (
        lenient
          ? needed && usual === undefined
          : question.kind === "input"
            ? question.required
            : question.kind !== "several"
      )
        missing.add(`--${leaf.flag}`);
      return usual;
    },
    secret: async () => undefined,
    resume: async () => false,
    refused: async (reason) => {
      throw reason;
    },
    review: async () => "write",
    complete() {
      if (missing.size === 0) return;
      const flags = [...missing].join(", ");
      throw new UsageError(
        `Without a terminal nothing is asked, and these flags are missing: ${flags}.`,
        lenient
          ? "Pass them, or answer them in --answers FILE."
          : "Pass them, or --yes to use what is found on this machine, or --answers FILE.",
      );
    },
  };
}
