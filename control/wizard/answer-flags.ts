/**
 * The flags that answer questions of a setup: one for each answer of the schema, made from it; and whether what they say is
 * allowed and belongs to the chosen target. What is wrong is a UsageError that names the flags.
 */
import { Flags } from "@oclif/core";
import type { DEPLOYMENT_TARGETS } from "../../runtime/config/schema/deployment.ts";
import { holdsSecret } from "../../runtime/config/secret-values.ts";
import { ConfigValidationError } from "../../runtime/contracts/errors.ts";
import { UsageError } from "../output/failure.ts";
import {
  type AnswerLeaf,
  type AnswerPath,
  type AnswerTree,
  answerAt,
  answerLeaves,
  isTree,
  withAnswer,
  withEntries,
} from "./answer-tree.ts";
import type { Answers } from "./answers.ts";
import { type AnswerIssue, checkAnswers } from "./parse-answers.ts";

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
        if (key !== null) answered.push([...path, key].join("."));
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
    throw new UsageError(`--${leaf.flag} ${shown} has the wrong form.`, hint);
  }
  return { path: leaf.path.map((part) => (part === "*" ? entry : part)), key, value };
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

type Target = (typeof DEPLOYMENT_TARGETS)[number];
type GivenFlags = Readonly<Record<string, unknown>>;

const DEPLOYED: readonly Target[] = ["docker", "proxmox", "kubernetes"];
/** Answers that belong to these targets alone, where their section does not say so. */
const TARGETS: Readonly<Record<string, readonly Target[]>> = {
  "deployment.name": DEPLOYED,
  "deployment.nodes": DEPLOYED,
  "deployment.nodes.*.host": ["docker"],
  "deployment.nodes.*.address": ["proxmox"],
  "deployment.nodes.*.pve_node": ["proxmox"],
  "deployment.publish": ["docker"],
  "deployment.shared_storage": DEPLOYED,
};

/** The answers, where all of the flags' are allowed. UsageError that names each flag whose answer is not. */
export function requireAllowed(tree: AnswerTree, flags: GivenFlags): Answers {
  const checked = checkAnswers(tree);
  if (checked.ok) return checked.answers;
  const lines = checked.issues.map((issue) => `${flagsOfIssue(issue, flags)}: ${issue.message}`);
  const [only = "", ...others] = [...new Set(lines)];
  const message =
    others.length === 0
      ? `${only}.`
      : ["These answers are not allowed:", `  ${only}`, ...others.map((line) => `  ${line}`)].join("\n");
  throw new UsageError(
    message,
    "Nothing was written. `cairn init --help` and `cairn config --help` list what each flag allows.",
  );
}

/** UsageError that names each flag that belongs to another target. */
export function requireFitting({ deployment: { target } }: Answers, flags: GivenFlags): void {
  const strangers = answerLeaves()
    .filter(({ flag }) => flags[flag] !== undefined)
    .map((leaf) => ({ flag: `--${leaf.flag}`, targets: targetsOf(leaf) }))
    .filter(({ targets }) => !targets.includes(target));
  const [first, ...others] = strangers;
  if (first === undefined) return;
  const names = strangers.map(({ flag }) => flag).join(", ");
  const common = first.targets.filter((one) => others.every(({ targets }) => targets.includes(one)));
  const advice = common.length > 0 ? `pass --target ${common.join(" or --target ")}` : "choose one target";
  throw new UsageError(
    `${names} ${others.length === 0 ? "does" : "do"} not apply to the target ${target}.`,
    `Leave ${others.length === 0 ? "it" : "them"} out, or ${advice}.`,
  );
}

/** Only what is deployed has a database that is deployed with it: UsageError where a flag said so, else ConfigValidationError. */
export function requireStorable({ deployment: { target }, memory }: Answers, flags: GivenFlags): void {
  if (target !== "manual" || memory !== "datahub") return;
  const what = "datahub is the database that `cairn infra up` deploys, and the target manual deploys none";
  const hint =
    "For a PostgreSQL of your own it is `postgres`, with SERVICE_PG_URL in .env; for the store of the node itself, `embedded`.";
  if (flags["memory"] !== undefined) throw new UsageError(`--memory ${what}.`, hint);
  throw new ConfigValidationError(
    `The answers are not valid:\n  memory: ${what}`,
    [{ path: "memory", message: what }],
    {
      hint,
    },
  );
}

function targetsOf({ id, path }: AnswerLeaf): readonly Target[] {
  const [top, section] = path;
  const own = DEPLOYED.find((target) => top === "deployment" && target === section);
  return own === undefined ? (TARGETS[id] ?? [...DEPLOYED, "manual"]) : [own];
}

/** The flag of the answer; where only others have made that entry of a list, theirs. */
function flagsOfIssue({ path }: AnswerIssue, flags: GivenFlags): string {
  const id = path.map((part) => (typeof part === "number" ? "*" : part)).join(".");
  const leaves = answerLeaves();
  const given = leaves.filter(({ flag }) => flags[flag] !== undefined);
  const exact = given.find((leaf) => id === leaf.id || id.startsWith(`${leaf.id}.`));
  if (exact !== undefined) return `--${exact.flag}`;
  const list = id.split(".*")[0] ?? id;
  const near = given.filter((leaf) => leaf.id === list || leaf.id.startsWith(`${list}.*`));
  return near.length > 0 ? near.map(({ flag }) => `--${flag}`).join(", ") : path.join(".");
}
