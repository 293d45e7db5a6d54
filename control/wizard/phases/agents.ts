/** Phase 3 of a setup: the agents, and the language model of each. Pure. */
import { localServers, openaiGateway, SERVICES } from "../catalogue.ts";
import { reachOf } from "../detect/seen-from-node.ts";
import { serviceOf } from "../provider.ts";
import { secretsOf } from "../secrets.ts";
import type { Choice, PhaseInput, Question } from "./question.ts";

const FIRST_AGENT = "main";
/** Any server that speaks this API; it needs an address. */
const OTHER = "openai-compatible";

export function agentQuestions(input: PhaseInput): Question[] {
  const { answers } = input;
  const names = answers.agents.length > 0 ? answers.agents.map(({ name }) => name) : [FIRST_AGENT];
  const [first = FIRST_AGENT, ...others] = names;
  return [
    { kind: "names", path: ["agents"], default: names, note: "agents" },
    ...providerQuestions(input),
    ...thinkingQuestions(input, first, usualProvider(input)),
    ...others.flatMap((name) => furtherAgent(input, name)),
    ...memoryQuestions(input),
    ...saveQuestion(input),
  ];
}

function providerQuestions(input: PhaseInput): Question[] {
  const { answers, facts, env } = input;
  const { provider } = answers;
  const id = usualProvider(input);
  const found = facts.servers.find((server) => server.id === id);
  const service = serviceOf(id);
  const questions: Question[] = [
    { kind: "select", path: ["provider", "id"], choices: providerChoices(input, id), default: id },
  ];
  if (id === "offline" || provider.kind === "offline") return questions;
  const address = provider.base_url ?? found?.baseUrl ?? localServers(env).find((server) => server.id === id)?.baseUrl;
  // The address that the environment has for OpenAI's key is an answer, or the key would go to the public one.
  const gateway = id === "openai" && openaiGateway(env) !== undefined;
  if ((service === undefined || gateway) && provider.kind === undefined) {
    const reach = reachOf(facts, answers.deployment, address);
    questions.push({
      kind: "input",
      path: ["provider", "base_url"],
      about: { id, host: URL.parse(address ?? "")?.host ?? "" },
      default: address,
      required: true,
      ...(reach === "heard" || reach === "unheard" ? { note: reach } : {}),
    });
  }
  const usual = provider.base_url === undefined ? service?.model : undefined;
  const model = provider.model ?? found?.model ?? usual;
  const suggestions = found?.models;
  questions.push({
    kind: "input",
    path: ["provider", "model"],
    about: { id },
    default: model,
    required: true,
    ...(suggestions === undefined ? {} : { suggestions }),
  });
  const variable = provider.api_key_variable ?? keyDefault(input, id);
  if (found === undefined || found.keyVariable !== undefined || provider.api_key_variable !== undefined)
    questions.push({
      kind: "input",
      path: ["provider", "api_key_variable"],
      about: { id },
      default: variable,
      required: false,
    });
  return questions;
}

/** The variable that is set already, else the usual one. An address of one's own gets no key without being asked. */
function keyDefault({ answers, env }: PhaseInput, id: string): string | undefined {
  const { base_url } = answers.provider;
  if (base_url !== undefined && !(id === "openai" && base_url === openaiGateway(env))) return undefined;
  const variables = serviceOf(id)?.keyVariables ?? [];
  return variables.find((variable) => env[variable]) ?? variables[0];
}

function providerChoices({ facts, env }: PhaseInput, chosen: string): Choice[] {
  const keyed = SERVICES.filter(({ keyVariables }) => keyVariables.some((variable) => env[variable]));
  const rest = SERVICES.filter((service) => !keyed.includes(service));
  const ids = [
    ...keyed.map(({ id }) => id),
    ...facts.servers.map(({ id }) => id),
    ...rest.map(({ id }) => id),
    OTHER,
    "offline",
  ];
  return [...new Set(ids.includes(chosen) ? ids : [chosen, ...ids])].map((value) => {
    const variable = keyed.find(({ id }) => id === value)?.keyVariables.find((name) => env[name]);
    const server = facts.servers.find(({ id }) => id === value);
    const description = server?.reason ?? (variable === undefined ? undefined : `${variable} is set`);
    return { value, name: value, ...(description === undefined ? {} : { description }) };
  });
}

/** The provider of the first agent, and of others that choose no other one. */
function usualProvider({ answers, facts }: PhaseInput): string {
  return answers.provider.id ?? facts.provider.id;
}

/** Nothing where there is no model to think. */
function thinkingQuestions({ answers }: PhaseInput, agent: string, provider: string): Question[] {
  const isOffline = provider === "offline" || (provider === answers.provider.id && answers.provider.kind === "offline");
  if (isOffline) return [];
  const levels = ["off", "low", "medium", "high"].map((value) => ({ value, name: value }));
  const former = answers.agents.find(({ name }) => name === agent)?.thinking ?? "off";
  return [{ kind: "select", path: ["agents", agent, "thinking"], about: { agent }, choices: levels, default: former }];
}

function furtherAgent(input: PhaseInput, agent: string): Question[] {
  const { answers } = input;
  const former = answers.agents.find(({ name }) => name === agent);
  const usual = usualProvider(input);
  const chosen = former?.provider ?? usual;
  const path = ["agents", agent, "provider"];
  const about = { agent };
  return [
    { kind: "select", path, about, choices: providerChoices(input, chosen), default: chosen },
    ...(chosen === "offline" || chosen === usual
      ? []
      : [modelQuestion(agent, former?.model ?? modelOf(input, chosen))]),
    ...thinkingQuestions(input, agent, chosen),
  ];
}

/** What the memory can do beyond words, where this machine has a model for it. */
function memoryQuestions({ answers, facts }: PhaseInput): Question[] {
  const { embedding, provider, summaries } = answers;
  const models = [...new Set(facts.embeddings.map(({ model }) => model))];
  const questions: Question[] = [];
  // One choice alone is no question: "off" is what is there where nothing could be chosen.
  if (models.length > 0 || (embedding.model !== undefined && embedding.model !== "off")) {
    const [first = "off"] = models;
    const choices = [...new Set([...models, ...(embedding.model === undefined ? [] : [embedding.model]), "off"])];
    questions.push({
      kind: "select",
      path: ["embedding", "model"],
      choices: choices.map((value) => ({ value, name: value === "off" ? "no, by words alone" : value })),
      default: embedding.model ?? first,
    });
  }
  if (embedding.model !== undefined && embedding.model !== "off" && !models.includes(embedding.model))
    questions.push({
      kind: "input",
      path: ["embedding", "base_url"],
      about: { model: embedding.model },
      default: embedding.base_url,
      required: true,
    });
  const id = provider.id ?? facts.provider.id;
  if (facts.servers.some((server) => server.id === id && server.source === "local") || summaries === true)
    questions.push({ kind: "confirm", path: ["summaries"], about: { id }, default: summaries ?? true });
  return questions;
}

function modelQuestion(agent: string, model: string | undefined): Question {
  return { kind: "input", path: ["agents", agent, "model"], about: { agent }, default: model, required: true };
}

function modelOf({ facts }: PhaseInput, id: string): string | undefined {
  return facts.servers.find((server) => server.id === id)?.model ?? serviceOf(id)?.model;
}

/** Only where something that is needed is in the environment, and nowhere else. */
function saveQuestion({ answers, env, inFile }: PhaseInput): Question[] {
  const inEnvironment = secretsOf(answers).filter(({ variable }) => env[variable] && !inFile.has(variable));
  if (inEnvironment.length === 0 && answers.save_key === undefined) return [];
  const variables = inEnvironment.map(({ variable }) => variable).join(", ");
  return [{ kind: "confirm", path: ["save_key"], about: { variables }, default: answers.save_key ?? false }];
}
