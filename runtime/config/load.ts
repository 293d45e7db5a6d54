/**
 * From a deployment directory to a configuration: read .env and cairn.yaml, derive, resolve references, parse, check.
 * The process environment wins over .env: what an operator sets for one run is what counts.
 */
import { readFile } from "node:fs/promises";
import { homedir, hostname } from "node:os";
import { ConfigError } from "../contracts/errors.ts";
import { type Config, finishConfig } from "./config.ts";
import { crossCheck } from "./cross-checks.ts";
import { derive } from "./derive.ts";
import { resolveDirectories, userHome } from "./directories.ts";
import { createOnePasswordReader } from "./one-password.ts";
import {
  type Environment,
  type Resolution,
  resolveReferences,
  type SecretReader,
  type UnresolvedReference,
} from "./references.ts";
import { type ConfigIssue, describe, type Finding, schemaFindings, toIssue, validationError } from "./report.ts";
import { CONFIG_VERSION, configSchema, type ParsedConfig } from "./schema.ts";
import { fillEmpty } from "./schema-walk.ts";
import { isSecretPath, isSecretVariable, secretsIn } from "./secret-values.ts";
import { readSecretsFile } from "./secrets-file.ts";
import { formatPath, startsWith, type TreeMap, texts, withoutValue } from "./tree.ts";
import { type OptionalPart, optionalParts } from "./usage.ts";
import { hardcodedSecretWarnings, rangeWarnings, unknownKeyWarnings } from "./warnings.ts";
import { parseYaml } from "./yaml-source.ts";

export interface LoadOptions {
  /** Deployment directory; found as `resolveDirectories` does when absent. */
  readonly dir?: string;
  readonly home?: string;
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

/** Everything that is right and wrong with a configuration. Rejects only where there is nothing to look at. */
export async function inspectConfig(options: LoadOptions = {}): Promise<Inspection> {
  const processEnv = options.env ?? process.env;
  const cwd = options.cwd ?? process.cwd();
  const user = userHome(processEnv, options.env ? undefined : safeHomedir());
  const found = resolveDirectories({
    flags: { dir: options.dir },
    env: options.home === undefined ? processEnv : { ...processEnv, SERVICE_HOME: options.home },
    cwd,
    homedir: user,
  });
  const { dir, home, file } = found;

  const source = parseYaml(await readConfigFile(file), file);
  checkVersion(source.tree, file);
  const secretsFile = await readSecretsFile(dir);
  const env = mergeEnvironments(secretsFile.values, processEnv);

  const written = asMap(fillEmpty(configSchema, source.tree));
  const derived = derive(written, { env, hostname: options.hostname ?? hostname() });
  const parts = optionalParts(derived, { deployment: options.deployment ?? false });
  const read =
    options.readSecret ?? createOnePasswordReader({ env, ...(options.signal ? { signal: options.signal } : {}) });
  const resolution = await resolveReferences(derived, env, read);
  const { tree, dropped, errors: unresolved, warnings: left } = leaveOut(resolution, parts);

  const parsed = configSchema.safeParse(tree, { reportInput: false });
  const refused = parsed.success
    ? []
    : schemaFindings(
        parsed.error.issues.filter(
          (issue) => !unresolved.some(({ path }) => startsWith(issue.path.filter(isKey), path)),
        ),
        derived,
      );
  const sections = parsed.success ? parsed.data : soundSections(tree);
  const checks = crossCheck({ config: sections, env, dropped });
  const locate = source.locate;
  const errors = inOrder(
    [...unresolved.map(toFinding), ...refused, ...checks.errors].map((finding) => toIssue(finding, locate)),
  );
  const config =
    parsed.success && errors.length === 0 ? finishConfig(parsed.data, { dir, home, userHome: user }) : null;
  const findings: Finding[] = [
    ...(source.tree["version"] === undefined
      ? [{ path: ["version"], message: `the file should begin with \`version: ${CONFIG_VERSION}\`` }]
      : []),
    ...unknownKeyWarnings(written),
    ...hardcodedSecretWarnings(written),
    ...left,
    ...checks.warnings,
    ...rangeWarnings(sections),
  ];
  const warnings = [...secretsFile.warnings, ...inOrder(findings.map((finding) => toIssue(finding, locate)))];
  const secrets = collectSecrets(tree, resolution, env, secretsFile.values);
  const loaded = config === null ? null : { config, warnings, dir, home, file, env, secrets };
  return { file, dir, loaded, errors, warnings, error: toError(file, errors, unresolved) };
}

/** Variables that are set to nothing in the process do not hide those of the file. */
export function mergeEnvironments(file: Readonly<Record<string, string>>, processEnv: Environment): Environment {
  const set = Object.entries(processEnv).filter(
    ([name, value]) => value !== undefined && (value !== "" || !Object.hasOwn(file, name)),
  );
  return { ...file, ...Object.fromEntries(set) };
}

async function readConfigFile(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown error";
    if (code === "ENOENT") {
      throw new ConfigError("CONFIG_UNREADABLE", `There is no configuration at ${file}.`, {
        cause: error,
        hint: "Make one with `cairn init --yes`.",
      });
    }
    throw new ConfigError("CONFIG_UNREADABLE", `The configuration ${file} cannot be read (${code}).`, { cause: error });
  }
}

function checkVersion(tree: TreeMap, file: string): void {
  const version = tree["version"];
  const number = typeof version === "number" ? version : Number(typeof version === "string" ? version : Number.NaN);
  if (!(number > CONFIG_VERSION)) return;
  const message = `${file} has version ${number}; this program reads up to version ${CONFIG_VERSION}.`;
  throw new ConfigError("CONFIG_VERSION_UNSUPPORTED", message, {
    hint: "Update cairn, or use the program that wrote the file.",
  });
}

/** Takes out the parts that nothing uses and whose references cannot be resolved. */
function leaveOut(resolution: Resolution, parts: readonly OptionalPart[]) {
  const errors: UnresolvedReference[] = [];
  const warnings: Finding[] = [];
  const dropped = new Set<OptionalPart>();
  for (const reference of resolution.unresolved) {
    const part = parts.find(({ path }) => reference.source !== "syntax" && startsWith(reference.path, path));
    if (part === undefined) errors.push(reference);
    else {
      dropped.add(part);
      const message = `${reference.reference} cannot be resolved: ${reference.reason}; ${formatPath(part.path)} is left out: ${part.reason}`;
      warnings.push({ path: reference.path, message });
    }
  }
  const tree = [...dropped].reduce((current, { path }) => withoutValue(current, path), resolution.tree);
  return { tree, dropped: [...dropped], errors, warnings };
}

function toFinding(reference: UnresolvedReference): Finding {
  const { path, reason, source } = reference;
  if (source === "syntax") return { path, found: describe(reference.reference, path), allowed: reason };
  const hint = source === "variable" ? "set it in the environment or in .env" : undefined;
  return {
    path,
    message: `${reference.reference} cannot be resolved: ${reason}`,
    ...(hint === undefined ? {} : { hint }),
  };
}

function toError(
  file: string,
  errors: readonly ConfigIssue[],
  unresolved: readonly UnresolvedReference[],
): ConfigError | null {
  if (errors.length === 0) return null;
  const secretsOnly =
    errors.length === unresolved.length && unresolved.every(({ source }) => source === "password-manager");
  if (!secretsOnly) return validationError(file, errors);
  const lines = errors.map((issue) => `  ${issue.path}: ${issue.message}`);
  return new ConfigError("CONFIG_SECRET_UNRESOLVED", [`Secrets of ${file} could not be read:`, ...lines].join("\n"), {
    issues: errors,
    hint: "Sign in with `op signin`, or set OP_SERVICE_ACCOUNT_TOKEN, and check the references with `op read`.",
  });
}

/** The sections that are right in themselves, so that one mistake does not hide the next. */
function soundSections(tree: TreeMap): Partial<ParsedConfig> {
  const sections = Object.entries(configSchema.shape).flatMap(([key, schema]) => {
    const result = schema.safeParse(tree[key]);
    return result.success ? [[key, result.data]] : [];
  });
  // Each value was parsed by the schema of its own key.
  return Object.fromEntries(sections) as Partial<ParsedConfig>;
}

function collectSecrets(
  tree: TreeMap,
  resolution: Resolution,
  env: Environment,
  file: Readonly<Record<string, string>>,
): string[] {
  const secrets = new Set(resolution.secrets);
  for (const { path, text } of texts(tree))
    if (isSecretPath(path)) for (const secret of secretsIn(text)) secrets.add(secret);
  for (const [name, value] of Object.entries({ ...env, ...file })) {
    if (value === undefined || value === "") continue;
    if (isSecretVariable(name)) for (const secret of secretsIn(value)) secrets.add(secret);
    else if (/:\/\//.test(value)) for (const secret of secretsIn(value)) if (secret !== value) secrets.add(secret);
  }
  return [...secrets].filter((secret) => secret !== "");
}

/** As the file is read, from its top to its end. */
function inOrder(issues: ConfigIssue[]): ConfigIssue[] {
  return issues.toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0));
}

function isKey(key: PropertyKey): key is string | number {
  return typeof key !== "symbol";
}

function asMap(tree: unknown): TreeMap {
  // fillEmpty keeps the shape: a mapping stays one.
  return tree as TreeMap;
}

function safeHomedir(): string | undefined {
  try {
    return homedir();
  } catch {
    return undefined;
  }
}
