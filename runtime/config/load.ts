/** From a deployment directory to a configuration: read .env and cairn.yaml, derive, resolve references, parse, check. */
import { readFile } from "node:fs/promises";
import { homedir, hostname } from "node:os";
import { ConfigError } from "../contracts/errors.ts";
import { systemWords } from "../contracts/system-errors.ts";
import type { FoundPlugin } from "../files/plugin-package.ts";
import { checkWorkspacePlaces } from "./checks/places.ts";
import { checkSkillReaders } from "./checks/skills.ts";
import { type Config, finishConfig } from "./config.ts";
import { type Directories, pluginFinder, resolveDirectories, userHome } from "./directories.ts";
import { cacheSecrets, mergeEnvironments, readServiceVariables, type ServiceEnvironment } from "./environment.ts";
import { createOnePasswordReader } from "./one-password.ts";
import type { Environment, SecretReader } from "./references.ts";
import { type ConfigIssue, toIssue, validationError } from "./report.ts";
import { CONFIG_VERSION } from "./schema.ts";
import { readSecretsFile } from "./secrets-file.ts";
import type { TreeMap } from "./tree.ts";
import { validateConfig } from "./validate.ts";
import { parseYaml, type YamlSource } from "./yaml-source.ts";

export interface LoadOptions {
  /** Deployment directory; found as `resolveDirectories` does when absent. */
  readonly dir?: string;
  readonly home?: string;
  /** Read in place of the directory's cairn.yaml: a configuration that is tried before it counts. */
  readonly file?: string;
  /** Default: the environment of the process. */
  readonly env?: Environment;
  readonly cwd?: string;
  /** True for commands that deploy: they also need what only deployment.* refers to. */
  readonly deployment?: boolean;
  /** Reads `op://` references; default: the `op` command. */
  readonly readSecret?: SecretReader;
  readonly hostname?: string;
  readonly signal?: AbortSignal;
}

export interface LoadedConfig {
  readonly config: Config;
  readonly warnings: readonly ConfigIssue[];
  /** Absolute. */
  readonly dir: string;
  readonly home: string;
  readonly file: string;
  /** .env and the process environment together; the latter wins. */
  readonly env: Environment;
  /** Values for the log's redactor. */
  readonly secrets: readonly string[];
  /** What lies in `plugin_dirs`, those that cannot be used with what is wrong. */
  readonly plugins: readonly FoundPlugin[];
}

export interface Inspection {
  readonly file: string;
  readonly dir: string;
  /** Null when there are errors. */
  readonly loaded: LoadedConfig | null;
  readonly errors: readonly ConfigIssue[];
  readonly warnings: readonly ConfigIssue[];
  /** What loadConfig throws; null when there is nothing wrong. */
  readonly error: ConfigError | null;
}

/**
 * Rejects with ConfigValidationError (a formatted report), or ConfigError: CONFIG_UNREADABLE (no file),
 * CONFIG_VERSION_UNSUPPORTED, CONFIG_SECRETS_FILE_UNSAFE, CONFIG_SECRET_UNRESOLVED.
 */
export async function loadConfig(options: LoadOptions = {}): Promise<LoadedConfig> {
  const inspection = await inspectConfig(options);
  if (inspection.loaded === null) throw inspection.error ?? validationError(inspection.file, inspection.errors);
  return inspection.loaded;
}

/** Everything that is right and wrong with a configuration. Rejects only where there is nothing to validate. */
export async function inspectConfig(options: LoadOptions = {}): Promise<Inspection> {
  const processEnv = options.env ?? process.env;
  const user = userHome(processEnv, options.env ? undefined : systemHome());
  const { dir, home, file } = directoriesOf(options, processEnv, user);
  const source = await readSource(file);
  const { environment, read, warnings: fileWarnings, ownSecrets } = await readEnvironment(dir, processEnv, options);
  const { env } = environment;

  const validation = await validateConfig({
    source,
    file,
    environment,
    read,
    hostname: options.hostname ?? hostname(),
    deployment: options.deployment ?? false,
    findPlugins: pluginFinder(dir, user),
  });
  const { parsed, errors, error } = validation;
  const said = [...fileWarnings, ...validation.warnings];
  if (parsed === null) return { file, dir, loaded: null, errors, warnings: said, error };
  const config = finishConfig(parsed, { dir, home, userHome: user });
  const placed = await checkWorkspacePlaces(config, { dir, home });
  const found = [...placed, ...(await checkSkillReaders(config))];
  const warnings = [...said, ...found.map((finding) => toIssue(finding, source.locate))];
  const secrets = [...new Set([...validation.secrets, ...ownSecrets])];
  const { plugins } = validation;
  return { file, dir, loaded: { config, warnings, dir, home, file, env, secrets, plugins }, errors, warnings, error };
}

function directoriesOf(options: LoadOptions, processEnv: Environment, user: string | undefined): Directories {
  const found = resolveDirectories({
    flags: { dir: options.dir },
    home: options.home,
    env: processEnv,
    cwd: options.cwd ?? process.cwd(),
    homedir: user,
  });
  return options.file === undefined ? found : { ...found, file: options.file };
}

async function readEnvironment(
  dir: string,
  processEnv: Environment,
  options: LoadOptions,
): Promise<{
  environment: ServiceEnvironment;
  read: SecretReader;
  warnings: readonly ConfigIssue[];
  ownSecrets: readonly string[];
}> {
  const secretsFile = await readSecretsFile(dir);
  const merged = mergeEnvironments(secretsFile.values, processEnv);
  const { signal, readSecret } = options;
  const read = cacheSecrets(readSecret ?? createOnePasswordReader({ env: merged, ...(signal ? { signal } : {}) }));
  const environment = await readServiceVariables(merged, read);
  return { environment, read, warnings: secretsFile.warnings, ownSecrets: environment.secrets };
}

async function readSource(file: string): Promise<YamlSource> {
  const source = parseYaml(await readConfigFile(file), file);
  checkVersion(source.tree, file);
  return source;
}

async function readConfigFile(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    const { reason, hint: advice } = systemWords(error);
    if (!reason.startsWith("ENOENT")) {
      throw new ConfigError("CONFIG_UNREADABLE", `The configuration ${file} cannot be read (${reason}).`, {
        cause: error,
        ...(advice === undefined ? {} : { hint: advice }),
      });
    }
    const hint = "Make one with `cairn init --yes`.";
    throw new ConfigError("CONFIG_UNREADABLE", `There is no configuration at ${file}.`, { cause: error, hint });
  }
}

/** A newer version is refused before any other finding: the rest may mean something that this version does not support. */
function checkVersion(tree: TreeMap, file: string): void {
  const version = tree["version"];
  const number = typeof version === "number" ? version : Number(typeof version === "string" ? version : Number.NaN);
  if (!(number > CONFIG_VERSION)) return;
  const message = `${file} has version ${number}; this program reads up to version ${CONFIG_VERSION}.`;
  throw new ConfigError("CONFIG_VERSION_UNSUPPORTED", message, {
    hint: "Update cairn, or use the program that wrote the file.",
  });
}

function systemHome(): string | undefined {
  try {
    return homedir();
  } catch {
    return undefined;
  }
}
