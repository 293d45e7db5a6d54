/** `init --yes`: a working deployment without a question. Used by the command and by the first `start`. */
import { randomBytes } from "node:crypto";
import {
  API_TOKEN_VARIABLE,
  apiTokenSecret,
  CONFIG_FILE,
  type Directories,
  type Environment,
  generateApiToken,
  inspectConfig,
  mergeEnvironments,
  readSecretsFile,
  type Secret,
} from "../../runtime/config/index.ts";
import { ConfigError } from "../../runtime/contracts/errors.ts";
import { type Answers, parseAnswers } from "./answers.ts";
import type { LocalServer } from "./catalogue.ts";
import { SERVICES } from "./catalogue.ts";
import { detectProvider, OFFLINE, type ProviderChoice } from "./detect.ts";
import { generate } from "./generate.ts";
import { type FileOutcome, type InstallStep, install, recoverInstall } from "./install.ts";
import { readTemplates } from "./templates.ts";

export interface InitOptions {
  readonly directories: Pick<Directories, "dir" | "home" | "file">;
  readonly env: Environment;
  /** Answers from flags or a file; what is not answered is decided here. */
  readonly answers?: unknown;
  /** Replace an existing cairn.yaml; a copy of it is kept. */
  readonly force?: boolean;
  readonly localServers?: readonly LocalServer[];
  readonly detectTimeoutMs?: number;
  /** The machine's time zone; default: what the system says. */
  readonly timezone?: string;
  readonly random?: (size: number) => Buffer;
  readonly onStep?: (step: InstallStep, path?: string) => void;
  readonly signal?: AbortSignal;
}

export interface InitResult {
  readonly dir: string;
  readonly home: string;
  readonly file: string;
  readonly agent: string;
  readonly listen: string;
  readonly memory: "embedded" | "postgres";
  readonly provider: ProviderChoice;
  /** Where the owner's token comes from; its value is in .env (or the environment) and never in a result. */
  readonly token: "generated" | "file" | "environment";
  readonly files: readonly FileOutcome[];
  /** What is still to be done, as sentences. */
  readonly notes: readonly string[];
  /** True when an interrupted setup was finished instead of a new one made. */
  readonly recovered: boolean;
}

/**
 * Writes cairn.yaml, .env, workspace/ and .gitignore, all or none. CONFIG_EXISTS when there is a cairn.yaml already,
 * CONFIG_UNWRITABLE, CONFIG_INVALID for answers that are not allowed, CONFIG_SECRETS_FILE_UNSAFE for a bad .env.
 */
export async function initYes(options: InitOptions): Promise<InitResult> {
  const { dir, home, file } = options.directories;
  const recovered = await recoverInstall(dir);
  const answers = parseAnswers(options.answers ?? {});
  const secretsFile = await readSecretsFile(dir);
  const env = mergeEnvironments(secretsFile.values, options.env);
  const existing = await inspectExisting(options);
  if (existing && recovered) return existing;
  if (existing && !options.force) {
    throw alreadyThere(file);
  }

  const provider = await chooseProvider(answers, options, env);
  const memory = answers.memory ?? (env["SERVICE_PG_URL"] ? "postgres" : "embedded");
  const { secrets, token } = newSecrets(answers, provider, options, secretsFile.values);
  const timezone = answers.timezone ?? options.timezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
  const plan = generate(await readTemplates(), {
    answers,
    provider,
    memory,
    timezone,
    secrets,
    replaceConfig: existing !== null,
  });
  const files = await install(dir, plan, {
    check: (staged) => checkStaged(staged, env, provider, home),
    ...(options.onStep ? { onStep: options.onStep } : {}),
  });
  if (files.some(({ path, action }) => path === CONFIG_FILE && action === "kept")) throw alreadyThere(file);
  const notes = notesFor(answers, provider, memory, env, options.env);
  return {
    dir,
    home,
    file,
    agent: answers.agent,
    listen: answers.listen,
    memory,
    provider,
    token,
    files,
    notes,
    recovered,
  };
}

function alreadyThere(file: string): ConfigError {
  return new ConfigError("CONFIG_EXISTS", `There is a configuration already: ${file}. It was left as it is.`, {
    hint: "Edit it and run `cairn config validate`, or pass --force to write a new one; the old one is kept beside it.",
  });
}

/** What is there already, as a result; null without a cairn.yaml. */
async function inspectExisting(options: InitOptions): Promise<InitResult | null> {
  const { dir, home, file } = options.directories;
  const inspection = await inspectConfig({
    dir,
    home,
    env: options.env,
    readSecret: async (reference) => reference,
  }).catch((error: unknown) => {
    if (error instanceof ConfigError && error.code === "CONFIG_UNREADABLE" && isMissing(error.cause)) return null;
    return "unusable" as const;
  });
  if (inspection === null) return null;
  const config = inspection === "unusable" ? undefined : inspection.loaded?.config;
  const agent = config?.runtime.default_agent ?? "main";
  const id = config?.agents[agent]?.provider ?? OFFLINE.id;
  const kind = config?.providers[id]?.kind ?? OFFLINE.kind;
  return {
    dir,
    home,
    file,
    agent,
    listen: config?.runtime.listen ?? "127.0.0.1:7433",
    memory: config?.memory.backend ?? "embedded",
    provider: { id, kind, source: "answers", reason: `written in ${CONFIG_FILE}` },
    token: options.env[API_TOKEN_VARIABLE] ? "environment" : "file",
    files: [],
    notes: [],
    recovered: true,
  };
}

async function chooseProvider(answers: Answers, options: InitOptions, env: Environment): Promise<ProviderChoice> {
  const given = answers.provider;
  if (given === undefined) {
    return detectProvider({
      env,
      ...(options.localServers ? { localServers: options.localServers } : {}),
      ...(options.detectTimeoutMs === undefined ? {} : { timeoutMs: options.detectTimeoutMs }),
      ...(options.signal ? { signal: options.signal } : {}),
    });
  }
  const service = SERVICES.find(({ id }) => id === given.id);
  const kind = given.kind ?? service?.kind ?? (given.id === "offline" ? "offline" : "openai-compatible");
  const baseUrl =
    given.base_url ?? (given.kind === undefined || given.kind === service?.kind ? service?.baseUrl : undefined);
  const model = given.model ?? (given.base_url === undefined ? service?.model : undefined);
  const usual = given.base_url === undefined ? service?.keyVariables : undefined;
  const keyVariable = given.api_key_variable ?? usual?.find((variable) => env[variable]) ?? usual?.[0];
  return {
    id: given.id,
    kind,
    ...(model === undefined ? {} : { model }),
    ...(baseUrl === undefined ? {} : { baseUrl }),
    ...(keyVariable === undefined ? {} : { keyVariable }),
    source: "answers",
    reason: "chosen by the answers",
  };
}

function newSecrets(
  answers: Answers,
  { keyVariable }: ProviderChoice,
  options: InitOptions,
  written: Readonly<Record<string, string>>,
) {
  const secrets: Secret[] = [];
  let token: InitResult["token"] = "generated";
  if (options.env[API_TOKEN_VARIABLE]) token = "environment";
  else if (written[API_TOKEN_VARIABLE]) token = "file";
  else secrets.push(apiTokenSecret(generateApiToken(options.random ?? randomBytes)));
  const key = keyVariable === undefined ? undefined : options.env[keyVariable];
  if (answers.save_key && keyVariable !== undefined && key && !written[keyVariable]) {
    if (/["'`\n\r\\#\s]/.test(key)) {
      throw new ConfigError(
        "CONFIG_INVALID",
        `${keyVariable} holds characters that a line of .env cannot hold; write it there by hand.`,
      );
    }
    secrets.push({ name: keyVariable, value: key, comment: "Copied from the environment at setup." });
  }
  return { secrets, token };
}

/** The files must make a configuration that is valid as soon as its variables are set. */
async function checkStaged(
  staged: string,
  env: Environment,
  { keyVariable }: ProviderChoice,
  home: string,
): Promise<void> {
  const stand = {
    SERVICE_PG_URL: "postgres://localhost/cairn",
    ...(keyVariable === undefined ? {} : { [keyVariable]: "not set yet" }),
  };
  const inspection = await inspectConfig({ dir: staged, home, env: mergeEnvironments(stand, env) });
  if (inspection.error === null) return;
  const lines = inspection.errors.map((issue) => `  ${issue.path}: ${issue.message}`);
  throw new ConfigError("CONFIG_INVALID", ["The answers do not make a valid configuration:", ...lines].join("\n"), {
    issues: inspection.errors,
  });
}

function notesFor(
  answers: Answers,
  provider: ProviderChoice,
  memory: string,
  env: Environment,
  processEnv: Environment,
): string[] {
  const { keyVariable } = provider;
  const notes: string[] = [];
  if (provider.kind === "offline") {
    notes.push(
      "No language model is configured: the agent answers with what its memory finds. Set ANTHROPIC_API_KEY or OPENAI_API_KEY, or start Ollama, and run `cairn init --yes --force`.",
    );
  } else if (keyVariable !== undefined && !env[keyVariable]) {
    notes.push(`${keyVariable} is not set: write \`${keyVariable}=...\` into .env before you start.`);
  } else if (keyVariable !== undefined && processEnv[keyVariable] && !answers.save_key) {
    notes.push(
      `${keyVariable} stays in your environment. For a service that the system starts, write it into .env too, or pass --save-key.`,
    );
  }
  if (memory === "postgres" && !env["SERVICE_PG_URL"])
    notes.push("SERVICE_PG_URL is not set: write it into .env before you start.");
  return notes;
}

function isMissing(cause: unknown): boolean {
  return cause instanceof Error && "code" in cause && cause.code === "ENOENT";
}
