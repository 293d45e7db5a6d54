/** Works out what a setup would write, and checks it. Nothing is written here. */

import { join } from "node:path";
import { CONFIG_FILE, type Environment, mergeEnvironments } from "../../runtime/config/index.ts";
import { hasModel, lacksModel } from "../../runtime/contracts/model-names.ts";
import { exists } from "../../runtime/files/durable.ts";
import { standIn } from "../configuration/current.ts";
import type { PlannedEdit } from "../configuration/edit.ts";
import type { Answers } from "./answers.ts";
import { localServers } from "./catalogue.ts";
import { checkChange, checkNew } from "./check-setup.ts";
import type { Facts } from "./detect/facts.ts";
import { USUAL_LISTEN } from "./detect/free-listen.ts";
import { reachOf, seenFromNode } from "./detect/seen-from-node.ts";
import type { ProviderChoice } from "./detect.ts";
import type { Review } from "./dialog.ts";
import { alreadyThere, type Existing } from "./existing.ts";
import { type GenerateInput, generate, type SetupPlan } from "./generate.ts";
import { infraFiles } from "./infra-project.ts";
import { chosenProvider } from "./provider.ts";
import { type NewSecrets, newSecrets, secretsOf } from "./secrets.ts";
import { applyChanges, type Offered, settingsOf } from "./settings.ts";
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
  readonly result: Omit<InitResult, "files">;
}

const STACK = "cairn";

/** CONFIG_INVALID or INFRA_PLAN_INVALID where the answers make no valid configuration or no deployment; nothing is written. */
export async function planSetup(input: SetupInput): Promise<PreparedSetup> {
  const { options, existing, env, written, typed, random } = input;
  const answers = withFreeListen(input.answers, input.facts);
  const facts = seenFromNode(input.facts, answers.deployment);
  const { dir, home, file } = options.directories;
  const found: Offered = { providers: [...facts.servers, facts.provider], embeddings: facts.embeddings };
  const provider = chosenProvider(answers, found.providers);
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
  const notes = [
    ...memoryStaysBehind(existing?.answers.memory, answers.memory, existing?.storePath ?? null),
    ...nodeStaysBehind(existing?.answers, answers),
    ...notesFor({ answers, provider, facts, env: options.env, inFile }),
  ];
  const changed = edit === null || edit.changed || (await addsFiles(dir, plan)) || token.secrets.length > 0;
  const listen = answers.listen ?? USUAL_LISTEN;
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
      listen,
      url: `${existing?.tls === true ? "https" : "http"}://${listen}`,
      memory: answers.memory ?? "embedded",
      provider,
      token: token.token,
      diff: edit?.diff ?? null,
      notes: [...notes, ...adviceFor(provider)],
      next: nextSteps(answers, existing !== null),
    },
  };
}

/** Nobody was asked where the node listens: then where it can. */
function withFreeListen(answers: Answers, { listen }: Facts): Answers {
  if (answers.listen !== undefined || listen === undefined || answers.deployment.target !== "manual") return answers;
  return { ...answers, listen };
}

/** What the answers change in the file that is there. */
async function planChange({ options, answers }: SetupInput, before: Answers, found: Offered): Promise<PlannedEdit> {
  const { planEdit } = await import("../configuration/edit.ts");
  return planEdit(
    options.directories,
    (document) => applyChanges(document, settingsOf(before, found), settingsOf(answers, found)),
    options.signal ? { signal: options.signal } : {},
  );
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

interface NotesInput {
  readonly answers: Answers;
  readonly provider: ProviderChoice;
  readonly facts: Facts;
  /** The environment of the process. */
  readonly env: Environment;
  /** Names that `.env` has, or will have. */
  readonly inFile: ReadonlySet<string>;
}

/** Another backend is another store: it begins empty. */
function memoryStaysBehind(
  before: Answers["memory"],
  after: Answers["memory"],
  storePath: string | null,
): readonly string[] {
  if (before === undefined || after === undefined || (before === "embedded") === (after === "embedded")) return [];
  const [former, next] =
    before === "embedded" ? ["the embedded store", "PostgreSQL"] : ["PostgreSQL", "the embedded store"];
  const begins = `The memory so far stays in ${former}, and ${next} begins without it.`;
  if (after === "postgres" && storePath !== null) {
    return [
      `${begins} It is at ${storePath}, which only memory.embedded.path names: to take it along, put that back and run \`cairn memory move postgres\` in place of this change, which it makes itself (docs/move-to-postgres.md).`,
    ];
  }
  // Into PostgreSQL it can follow later, as long as nothing was said there.
  if (after === "postgres") {
    return [
      `${begins} To take it along, run \`cairn stop\` and \`cairn memory move postgres\` before the next start (docs/move-to-postgres.md).`,
    ];
  }
  if (before === "postgres") {
    return [
      `${begins} To take it along, run \`cairn memory move embedded\` in place of this change: it makes the change itself (docs/move-to-postgres.md).`,
    ];
  }
  return [
    `${begins} To take it along, write \`cairn memory backup FILE\` before this change and \`cairn memory restore FILE\` after it (docs/move-to-postgres.md).`,
  ];
}

/** Nodes of another target begin anew: with homes of their own, and an embedded store that is empty. */
function nodeStaysBehind(before: Answers | undefined, { deployment, memory }: Answers): readonly string[] {
  if (before?.deployment.target !== "manual" || deployment.target === "manual") return [];
  const same = before.memory === "embedded" && memory === "embedded";
  const advice =
    "To take its memory along, write `cairn memory backup FILE` before this change and `cairn memory restore FILE` after `cairn infra up`.";
  return [`A node that runs on this machine goes on until \`cairn stop\`.${same ? ` ${advice}` : ""}`];
}

function notesFor({ answers, provider, facts, env, inFile }: NotesInput): string[] {
  const notes: string[] = [];
  const { target } = answers.deployment;
  if (provider.kind === "offline") {
    const then = target === "manual" ? "cairn restart" : "cairn infra up";
    notes.push(
      `No language model is configured: the agent answers with what its memory finds. Start Ollama and run \`cairn provider ollama --model NAME\`, or write ANTHROPIC_API_KEY=... into .env and run \`cairn provider anthropic\`; then \`${then}\`.`,
      ...facts.unusable.map((one) => `${one}.`),
    );
  }
  if (facts.listen !== undefined && answers.listen === facts.listen)
    notes.push(`Another program has ${USUAL_LISTEN}: the node listens at ${facts.listen} (runtime.listen).`);
  notes.push(...unlisted(answers, provider, facts), ...unreachable(answers, provider, facts));
  for (const { variable } of secretsOf(answers)) {
    if (inFile.has(variable)) continue;
    if (!env[variable]) notes.push(`${variable} is not set: write \`${variable}=...\` into .env before you start.`);
    else if (target === "manual") {
      notes.push(
        `${variable} stays in your environment. For a service that the system starts, write it into .env too, or pass --save-key.`,
      );
    }
  }
  if (target === "docker" && facts.docker !== null && facts.docker.version === null && isLocal(answers))
    notes.push("Docker is installed here, and its service did not answer: start it before `cairn infra up`.");
  if (target === "kubernetes" && facts.kubernetes?.contexts.length === 0)
    notes.push("kubectl knows no cluster: `kubectl config get-contexts` has to show one before `cairn infra up`.");
  if (target === "proxmox" && (answers.deployment.proxmox.identity_file ?? null) === null && hasNoKey(facts))
    notes.push("No SSH key was found: load one with `ssh-add FILE`, or name its file, before `cairn infra up`.");
  return notes;
}

function hasNoKey({ ssh }: Facts): boolean {
  return ssh !== null && ssh.agentKeys + ssh.keyFiles === 0;
}

/** What is done elsewhere, once all is written: nothing of it decides whether to write. */
function adviceFor({ id }: ProviderChoice): string[] {
  if (id !== "ollama") return [];
  return [
    "Summaries get a small context from Ollama, which cuts off the rest: set OLLAMA_CONTEXT_LENGTH=32768 where it runs (docs/models.md).",
  ];
}

/** Models that their server, which was asked for its list, does not have. */
function unlisted({ agents }: Answers, provider: ProviderChoice, { servers }: Facts): string[] {
  const wanted = [provider, ...agents.map((agent) => ({ id: agent.provider ?? provider.id, model: agent.model }))];
  const notes = wanted.flatMap(({ id, model, ...own }) => {
    const server = servers.find((one) => one.id === id);
    const elsewhere = "baseUrl" in own && own.baseUrl !== server?.baseUrl;
    if (model === undefined || server?.models === undefined || elsewhere || hasModel(server.models, model)) return [];
    return [lacksModel(id, server.models, model)];
  });
  return [...new Set(notes)];
}

/** A model server that the nodes, which are containers, would not reach as it is. */
function unreachable({ deployment }: Answers, { id, kind, baseUrl: given }: ProviderChoice, facts: Facts): string[] {
  // `kind: ollama` alone means its usual address on loopback.
  const baseUrl = given ?? localServers({}).find((server) => server.id === kind)?.baseUrl;
  const reach = reachOf(facts, deployment, baseUrl);
  if (reach === "unheard") {
    return [
      `${id} does not listen at ${URL.parse(baseUrl ?? "")?.host} yet, where the nodes reach this machine. Let it listen beyond loopback (Ollama: OLLAMA_HOST=0.0.0.0), see docs/models.md.`,
    ];
  }
  if (reach !== "loopback") return [];
  return [
    `${baseUrl} leads a node in a container to itself, not to ${id} here. Let ${id} listen beyond loopback (Ollama: OLLAMA_HOST=0.0.0.0) and give its machine's address in the network, see docs/models.md.`,
  ];
}

/** The commands that come next, in their order. */
function nextSteps({ deployment: { target } }: Answers, changed: boolean): string[] {
  if (target === "manual") return changed ? ["cairn restart"] : ["cairn start", "cairn chat"];
  return ["cairn build", "cairn infra preview", "cairn infra up", "cairn chat"];
}

function isLocal({ deployment: { docker, nodes } }: Answers): boolean {
  return (docker.host ?? "local") === "local" || nodes.some(({ host }) => host === "local");
}
