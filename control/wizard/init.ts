/**
 * `init` and `config`: what is found and what is answered becomes a deployment. A new one, or the one that is there with what has
 * changed. Used by the commands and by the first `start`.
 */

import { randomBytes } from "node:crypto";
import { type Environment, mergeEnvironments, readSecretsFile } from "../../runtime/config/index.ts";
import { exists } from "../../runtime/files/durable.ts";
import { UsageError } from "../output/failure.ts";
import { type FlagAnswers, flagAnswers, requireAllowed, requireFitting, requireStorable } from "./answer-flags.ts";
import { answerAt, dependentsOf, isTree, listKey, mergeAnswers } from "./answer-tree.ts";
import type { Answers } from "./answers.ts";
import { converse, usualFrom } from "./converse.ts";
import { detectFacts, type FactOptions, listenAgain, TOOLS, type ToolName } from "./detect/facts.ts";
import { otherListen } from "./detect/free-listen.ts";
import { type Dialog, unattended } from "./dialog.ts";
import { readDraft, removeDraft } from "./draft.ts";
import { alreadyThere, type Existing, readExisting } from "./existing.ts";
import { parseAnswers } from "./parse-answers.ts";
import { answersOf, type FlowState, type Surroundings } from "./phases/flow.ts";
import { type PreparedSetup, planSetup } from "./plan-setup.ts";
import type { InitOptions, InitResult } from "./setup.ts";
import { requireWritable, writeSetup } from "./write-setup.ts";

export type { InitOptions, InitResult } from "./setup.ts";

/**
 * Writes .env, infra/, workspace/, .gitignore and cairn.yaml. CONFIG_EXISTS when there is a cairn.yaml already and
 * nobody to ask, CONFIG_UNWRITABLE, CONFIG_INVALID for answers that are not allowed, CONFIG_SECRETS_FILE_UNSAFE for a bad .env,
 * CONFIG_VERSION_UNSUPPORTED for a newer cairn.yaml, which stays as it is; UsageError naming the flags of answers that are missing.
 */
export async function initialize(options: InitOptions): Promise<InitResult> {
  const { directories, dialog = unattended({ lenient: true }), purpose = "create", signal } = options;
  const { dir } = directories;
  await requireWritable(dir);
  const secretsFile = await readSecretsFile(dir);
  const env = mergeEnvironments(secretsFile.values, options.env);
  if (options.force !== true && purpose === "create" && !dialog.attended && (await exists(directories.file)))
    throw alreadyThere(directories.file);
  const existing = options.force === true ? null : await readExisting(directories, signal);

  const first = startingState(options, existing, dialog);
  if (existing !== null && !dialog.attended && options.flags?.["channel"] !== undefined)
    refuseDropped(existing, answersOf(first));
  const wanted = factOptions(options, env, answersOf(first), dialog);
  const machine = await detectFacts(wanted);
  // What is there already may be what has the port.
  const fresh = existing === null && !(await exists(directories.file));
  const facts = fresh ? { ...machine, listen: await otherListen(env) } : machine;
  await dialog.found(facts, dir, existing !== null);
  const inFile = new Set(Object.keys(secretsFile.values).filter((name) => secretsFile.values[name]));
  const around: Surroundings = { facts, env, inFile };
  const start = await resumed(options, dialog, first);
  const before = existing === null ? null : await usualAnswers(existing, around);
  const attempt = async (state: FlowState, typed: ReadonlyMap<string, string>): Promise<PreparedSetup> => {
    const answers = answersOf(state);
    requireStorable(answers, {});
    return planSetup({
      options,
      existing: existing === null || before === null ? null : { ...existing, answers: before },
      answers,
      facts: await listenAgain(facts, wanted),
      env,
      written: secretsFile.values,
      typed,
      random: options.random ?? randomBytes,
    });
  };
  const prepared = await converse(dialog, { dir, start, given: first.answered, around, attempt });
  const result = await writeSetup(prepared, options);
  await removeDraft(dir);
  // Reading it has put it right: nothing that looks later finds it.
  const found = secretsFile.warnings.map(({ path, message }) => `${path}: ${message}.`);
  return { ...result, notes: [...found, ...result.notes] };
}

/** What the file says, then the answers of a file and of flags. Errors are thrown before anything is probed or asked. */
function startingState(options: InitOptions, existing: Existing | null, dialog: Dialog): FlowState {
  const fromFile = options.answers ?? {};
  const flagValues = options.flags ?? {};
  const written = mergeAnswers(existing?.tree ?? {}, fromFile);
  parseAnswers(written);
  const flags: FlagAnswers = flagAnswers(flagValues, written);
  const answers = requireAllowed(flags.tree, flagValues);
  const given = [...pathsOf(fromFile, []), ...flags.answered];
  // At a terminal, another target may still be chosen.
  if (!dialog.attended || given.includes("deployment.target")) {
    requireFitting(answers, flagValues);
    if (given.includes("memory")) requireStorable(answers, flagValues);
  }
  const before = existing?.tree ?? {};
  // Answers of the file for another provider or another host do not hold for this one.
  const open = given
    .map((id) => id.split("."))
    .filter((path) => answerAt(before, path) !== undefined && answerAt(before, path) !== answerAt(flags.tree, path))
    .flatMap((path) => dependentsOf(path).map((dependent) => dependent.join(".")));
  const pinned = (existing?.pinned ?? []).filter((id) => !open.includes(id));
  return { tree: flags.tree, answered: new Set([...pinned, ...given]) };
}

/** UsageError where a command that adds a channel would remove another one: `--channel` names all of them. */
function refuseDropped({ tree }: Existing, { channels }: Answers): void {
  const named = new Set<unknown>(channels.map(({ id }) => id));
  const before = Array.isArray(tree["channels"]) ? tree["channels"].filter(isTree) : [];
  const dropped = before.map(({ id }) => id).filter((id) => !named.has(id));
  if (dropped.length === 0) return;
  throw new UsageError(
    `cairn.yaml has ${dropped.join(", ")} too, which --channel does not name and would remove.`,
    `Add \`${dropped.map((id) => `--channel ${id}`).join(" ")}\`, or first take out of cairn.yaml what is to go.`,
  );
}

const TOOLS_OF: Readonly<Record<Answers["deployment"]["target"], readonly ToolName[]>> = {
  manual: [],
  docker: ["docker"],
  proxmox: ["ssh"],
  kubernetes: ["kubectl"],
};

/** At a terminal everything is probed; otherwise only what the answers depend on. */
function factOptions(options: InitOptions, env: Environment, answers: Answers, dialog: Dialog): FactOptions {
  return {
    env,
    tools: dialog.attended ? TOOLS : TOOLS_OF[answers.deployment.target],
    allServers: dialog.attended || answers.provider.id !== undefined,
    ...(options.localServers ? { localServers: options.localServers } : {}),
    ...(options.detectTimeoutMs === undefined ? {} : { serverTimeoutMs: options.detectTimeoutMs }),
    ...(options.timezone === undefined ? {} : { timezone: options.timezone }),
    ...(options.signal ? { signal: options.signal } : {}),
  };
}

async function resumed(options: InitOptions, dialog: Dialog, start: FlowState): Promise<FlowState> {
  if (!dialog.attended || options.resume === false) return start;
  const draft = await readDraft(options.directories.dir);
  if (draft === null) return start;
  if (options.resume !== true && !(await dialog.resume(draft.savedAt))) return start;
  const { tree, answered } = flagAnswers(options.flags ?? {}, mergeAnswers(draft.state.tree, options.answers ?? {}));
  return { tree, answered: new Set([...draft.state.answered, ...start.answered, ...answered]) };
}

/** The answers that the configuration gives when nothing is changed: what differs from them is a change. */
function usualAnswers(existing: Existing, around: Surroundings): Promise<Answers> {
  return usualFrom({ tree: existing.tree, answered: new Set(existing.pinned) }, around);
}

/** Every answer in the tree, by its path. */
function pathsOf(value: unknown, path: readonly string[]): string[] {
  const key = listKey(path);
  if (key !== null && Array.isArray(value)) {
    const inner = value.filter(isTree).flatMap((entry) => pathsOf(entry, [...path, String(entry[key])]));
    return [path.join("."), ...inner];
  }
  if (isTree(value) && path.at(-1) !== "bindings")
    return Object.entries(value).flatMap(([name, one]) => pathsOf(one, [...path, name]));
  return value === undefined ? [] : [path.join(".")];
}
