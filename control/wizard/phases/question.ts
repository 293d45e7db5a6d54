/** A question of a setup as data: its answer's path, and the values that are allowed. The texts are in prompts/. */
import type { Environment } from "../../../runtime/config/index.ts";
import type { AnswerPath } from "../answer-tree.ts";
import type { Answers } from "../answers.ts";
import type { Facts } from "../detect/facts.ts";

export interface Choice {
  readonly value: string;
  readonly name: string;
  readonly description?: string;
}

interface Common {
  /** Place of the answer. */
  readonly path: AnswerPath;
  /** What fills the gaps of its words: the name of an agent, a host. */
  readonly about?: Readonly<Record<string, string>>;
  /** What is said before it is asked. */
  readonly note?: "agents" | "heard" | "unheard" | "where";
}

export type Question =
  | (Common & { readonly kind: "select"; readonly choices: readonly Choice[]; readonly default: string })
  | (Common & { readonly kind: "confirm"; readonly default: boolean })
  /** Names, separated by commas. */
  | (Common & { readonly kind: "names"; readonly default: readonly string[] })
  /** Any number of these. */
  | (Common & { readonly kind: "several"; readonly choices: readonly Choice[]; readonly default: readonly string[] })
  /** `required` and no default: it has to be answered, and `--yes` alone cannot. */
  | (Common & {
      readonly kind: "input";
      readonly default?: string | undefined;
      readonly required: boolean;
      /** Values that are known to be there; another one may be typed. */
      readonly suggestions?: readonly string[];
      /** What an empty answer means, where the words of the answer do not say it. */
      readonly empty?: string;
      readonly pattern?: RegExp;
      /** What the pattern allows, in words. */
      readonly allowed?: string;
    })
  /** `CHAT=AGENT`, separated by commas. */
  | (Common & { readonly kind: "pairs"; readonly default: Readonly<Record<string, string>> })
  /** The key that the host itself shows: it counts when the operator agrees to it. */
  | (Common & {
      readonly kind: "host-key";
      readonly default?: string | undefined;
      readonly host: string;
      readonly port: number;
    });

/** Input from which a phase makes its questions. */
export interface PhaseInput {
  readonly answers: Answers;
  readonly facts: Facts;
  /** `.env` and the environment of the process. */
  readonly env: Environment;
  /** Names that `.env` has. */
  readonly inFile: ReadonlySet<string>;
}

/** A value that goes into `.env`: asked hidden, never part of the answers, never kept between runs. */
export interface SecretQuestion {
  readonly variable: string;
  readonly purpose: "key" | "token" | "setting" | "database";
  /** Provider or channel that it is for. */
  readonly of: string;
  /** Of a channel. */
  readonly field?: {
    readonly channel: string;
    readonly key: string;
    readonly settings: Readonly<Record<string, string>>;
  };
}

export function idOf({ path }: Pick<Question, "path">): string {
  return path.join(".");
}
