/** The end of a setup: works out what is to be written, checks it, and writes it in one step. */

import { join } from "node:path";
import { CONFIG_FILE, type Environment, makeOwnHome, mergeEnvironments } from "../../runtime/config/index.ts";
import { exists } from "../../runtime/files/durable.ts";
import { standIn } from "../configuration/current.ts";
import type { PlannedEdit } from "../configuration/edit.ts";
import { requireUnchanged, requireWritableFile } from "../configuration/replace.ts";
import type { Answers } from "./answers.ts";
import { applyChanges } from "./apply.ts";
import { checkChange, checkNew } from "./check-setup.ts";
import type { Facts } from "./detect/facts.ts";
import type { ProviderChoice } from "./detect.ts";
import type { Review } from "./dialog.ts";
import { type GenerateInput, generate, type SetupPlan } from "./generate.ts";
import { infraFiles, linkProject } from "./infra-project.ts";
import { install } from "./install.ts";
import { nextSteps, notesFor } from "./notes.ts";
import { secretsOf } from "./phases/secrets.ts";
import { chosenProvider } from "./provider.ts";
import { alreadyThere, type Existing } from "./read-existing.ts";
import { type NewSecrets, newSecrets } from "./secrets.ts";
import { settingsOf } from "./settings.ts";
import type { InitOptions, InitResult } from "./setup.ts";
import { readTemplates } from "./templates.ts";

export interface SetupInput {
  readonly options: InitOptions;
  /** With the answers that leave it as it is; null for a new configuration. */
  readonly existing: (Existing & { readonly answers: Answers }) | null;
  readonly answers: Answers;
  readonly facts: Facts;
  /** `.env` and the environment of the process. */
  readonly env: Environment;
  /** What `.env` has. */
  readonly written: Readonly<Record<string, string>>;
  readonly typed: ReadonlyMap<string, string>;
  readonly random: (size: number) => Buffer;
}

export interface PreparedSetup {
  /** Null where nothing would change. */
  readonly review: Review | null;
  readonly plan: SetupPlan;
  /** Name of what is deployed. */
  readonly stack: string;
  readonly result: Omit<InitResult, "files" | "recovered">;
}

const STACK = "cairn";

/** CONFIG_INVALID or INFRA_PLAN_INVALID where the answers make no valid configuration or no deployment; nothing is written. */
export async function planSetup(input: SetupInput): Promise<PreparedSetup> {
  const { options, existing, answers, facts, env, written, typed, random } = input;
  const { dir, home, file } = options.directories;
  const found = [...facts.servers, facts.provider];
  const provider = chosenProvider(answers, found);
  const token = newSecrets({ answers, env: options.env, written, typed, random });
  const edit = existing === null ? null : await planChange(input, existing.answers, found);
  const replaced = existing === null && (await exists(file));
  if (replaced && options.force !== true) throw alreadyThere(file);
  const change: GenerateInput["change"] = edit ?? (replaced ? "replace" : null);
  const { target, name = STACK } = answers.deployment;
  const infra = await infraFiles(target, name);
  const plan = generate(await readTemplates(), { answers, found, secrets: token.secrets, infra, change });
  const checkEnv = checkEnvironment(answers, env, token, edit?.missing ?? []);
  const deployed = target !== "manual";
  if (edit === null) await checkNew(plan.files, { env: checkEnv, home, deployed });
  else if (edit.changed && deployed) await checkChange(edit.before, edit.after, { env: checkEnv, home });
  const inFile = new Set([...Object.keys(written), ...token.secrets.map((secret) => secret.name)]);
  const notes = notesFor({ answers, provider, facts, env: options.env, inFile });
  const changed = edit === null || edit.changed || (await addsFiles(dir, plan)) || token.secrets.length > 0;
  return {
    plan,
    stack: name,
    review: changed ? await reviewOf(dir, plan, token, edit, notes) : null,
    result: {
      dir,
      home,
      file,
      target,
      agent: answers.agents[0]?.name ?? "main",
      agents: answers.agents.map((agent) => agent.name),
      channels: answers.channels.map(({ id }) => id),
      listen: answers.listen ?? "127.0.0.1:7433",
      memory: answers.memory ?? "embedded",
      provider,
      token: token.token,
      diff: edit?.diff ?? null,
      notes,
      next: nextSteps(answers, existing !== null),
    },
  };
}

/** What the answers change in the file that is there. */
async function planChange(
  { options, answers }: SetupInput,
  before: Answers,
  found: readonly ProviderChoice[],
): Promise<PlannedEdit> {
  const { planEdit } = await import("../configuration/edit.ts");
  return planEdit(
    options.directories,
    (document) => applyChanges(document, settingsOf(before, found), settingsOf(answers, found)),
    options.signal ? { signal: options.signal } : {},
  );
}

/** Errors of `install`; RUNTIME_CONFLICT when the configuration was changed meanwhile; CONFIG_EXISTS. */
export async function writeSetup(
  prepared: PreparedSetup,
  options: InitOptions,
): Promise<Omit<InitResult, "recovered">> {
  const { plan, result, review } = prepared;
  if (review === null) return { ...result, files: [] };
  const { dir, file } = options.directories;
  const update = plan.files.find(({ mode }) => mode === "update");
  const files = await install(dir, plan, {
    check: async () => {
      if (update?.expected === undefined) return;
      await requireWritableFile(file);
      await requireUnchanged(file, update.expected);
    },
    ...(options.onStep ? { onStep: options.onStep } : {}),
  });
  if (files.some(({ path, action }) => path === CONFIG_FILE && action === "kept")) throw alreadyThere(file);
  makeOwnHome(options.directories.home, dir);
  if (result.target !== "manual") await linkProject(dir, prepared.stack);
  return { ...result, files };
}

async function addsFiles(dir: string, plan: SetupPlan): Promise<boolean> {
  const missing = await Promise.all(
    plan.files.filter(({ mode }) => mode === "create").map(async ({ path }) => !(await exists(join(dir, path)))),
  );
  return missing.includes(true);
}

async function reviewOf(
  dir: string,
  plan: SetupPlan,
  { secrets }: NewSecrets,
  edit: { readonly diff: string } | null,
  notes: readonly string[],
): Promise<Review> {
  const config = plan.files.find(({ path }) => path === CONFIG_FILE);
  const others = plan.files.filter(({ path }) => path !== CONFIG_FILE);
  const there = await Promise.all(others.map(({ path }) => exists(join(dir, path))));
  return {
    dir,
    text: edit?.diff ?? config?.content ?? "",
    isDiff: edit !== null,
    files: others.filter((_file, index) => !there[index]).map(({ path }) => path),
    secrets: secrets.map(({ name }) => name),
    notes,
  };
}

/** A variable that is not set yet is no error: the files must be valid as soon as it is. */
function checkEnvironment(
  answers: Answers,
  env: Environment,
  { secrets }: NewSecrets,
  missing: readonly string[],
): Environment {
  const others = Object.fromEntries(missing.map((variable) => [variable, standIn(variable)]));
  const stand = Object.fromEntries(
    secretsOf(answers).map(({ variable, purpose }) => [
      variable,
      purpose === "database" ? "postgres://localhost/cairn" : "not set yet",
    ]),
  );
  const made = Object.fromEntries(secrets.map(({ name, value }) => [name, value]));
  return mergeEnvironments({ ...others, ...stand, ...made }, env);
}
