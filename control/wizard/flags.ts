/** The flags that answer questions of a setup: one for each answer of the schema, made from it. */
import { Flags } from "@oclif/core";
import { holdsSecret } from "../../runtime/config/secret-values.ts";
import { UsageError } from "../output/failure.ts";
import { type AnswerLeaf, answerLeaves } from "./answer-leaves.ts";
import { type AnswerPath, type AnswerTree, answerAt, isTree, withAnswer, withEntries } from "./answer-tree.ts";

const GROUPS = { deployment: "DEPLOYMENT", agents: "AGENTS", channels: "CHANNELS" } as const;

export function answerFlags() {
  return Object.fromEntries(answerLeaves().map((leaf) => [leaf.flag, flagOf(leaf)]));
}

function flagOf(leaf: AnswerLeaf) {
  const common = { description: leaf.description.replace(/\.$/, ""), helpGroup: GROUPS[leaf.phase] };
  if (leaf.form === "switch") return Flags.boolean({ ...common, allowNo: true });
  const options = leaf.options === null || leaf.form === "entry" ? {} : { options: [...leaf.options] };
  const shown = leaf.options !== null && leaf.form === "value" ? {} : { helpValue: leaf.helpValue };
  const text = { ...common, ...options, ...shown };
  return leaf.form === "value" ? Flags.string(text) : Flags.string({ ...text, multiple: true });
}

export interface FlagAnswers {
  readonly tree: AnswerTree;
  /** Paths of what was answered by a flag, joined by dots. */
  readonly answered: readonly string[];
}

/** The answers that there are with those of the flags over them, still unchecked. UsageError for a flag that is written wrongly. */
export function flagAnswers(flags: Readonly<Record<string, unknown>>, before: AnswerTree): FlagAnswers {
  let tree = before;
  const answered: string[] = [];
  const answer = (path: AnswerPath, value: unknown): void => {
    tree = withAnswer(tree, path, value);
    answered.push(path.join("."));
  };
  for (const leaf of answerLeaves()) {
    const value = flags[leaf.flag];
    if (value === undefined) continue;
    if (leaf.form === "value" || leaf.form === "switch") answer(leaf.path, value);
    else if (leaf.form === "names") {
      tree = withEntries(tree, leaf.path, [...new Set(textsOf(value))]);
      answered.push(leaf.path.join("."));
    } else {
      for (const text of textsOf(value)) {
        const { path, key, value: given } = entryOf(leaf, text);
        const former = answerAt(tree, path);
        answer(path, key === null ? given : { ...(isTree(former) ? former : {}), [key]: given });
      }
    }
  }
  return { tree, answered };
}

/** `NAME=VALUE`, or `NAME/KEY=VALUE` where the answer is a mapping. */
function entryOf(leaf: AnswerLeaf, text: string): { path: AnswerPath; key: string | null; value: string } {
  const [, left = "", value = ""] = /^([^=]+)=(.+)$/s.exec(text) ?? [];
  const [, entry, key] = leaf.form === "pairs" ? (/^([^/]+)\/(.+)$/.exec(left) ?? []) : [left, left, null];
  if (!entry || value === "" || key === undefined) {
    const hint = `Write --${leaf.flag} ${leaf.helpValue}.`;
    // What is out of place may be the token itself.
    const shown = holdsSecret(text) ? "..." : text;
    throw new UsageError(`--${leaf.flag} ${shown} is not written as it has to be.`, hint);
  }
  return { path: leaf.path.map((part) => (part === "*" ? entry : part)), key, value };
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}
