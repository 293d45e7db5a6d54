/** Values and findings of a configuration: derive, resolve references, parse, check. Reads secrets, nothing else. */
import { ConfigError } from "../contracts/errors.ts";
import type { FoundPlugin } from "../files/plugin-package.ts";
import type { Findings } from "./checks/collector.ts";
import { crossCheck } from "./cross-checks.ts";
import { derive } from "./derive.ts";
import type { ServiceEnvironment } from "./environment.ts";
import type { FindingCode } from "./finding-codes.ts";
import { notImplementedFindings } from "./not-implemented.ts";
import { checkPluginSettings } from "./plugin-settings.ts";
import { admitPlugins } from "./plugins.ts";
import { type Resolution, resolveReferences, type SecretReader, type UnresolvedReference } from "./references.ts";
import { type ConfigIssue, describe, type Finding, schemaFindings, toIssue, validationError } from "./report.ts";
import { CONFIG_VERSION, configSchema, type ParsedConfig } from "./schema.ts";
import { fillEmpty } from "./schema-walk.ts";
import { isSecretPath, isSecretVariable, secretsIn } from "./secret-values.ts";
import { otherTargetWarnings } from "./target-settings.ts";
import { formatPath, startsWith, type TreeMap, type TreePath, texts, withoutValue } from "./tree.ts";
import { type OptionalPart, optionalParts } from "./usage.ts";
import { hardcodedSecretWarnings, rangeWarnings, unknownKeyWarnings } from "./warnings.ts";
import type { YamlSource } from "./yaml-source.ts";

export interface ValidationInput {
  readonly source: YamlSource;
  /** Names the file in reports. */
  readonly file: string;
  readonly environment: ServiceEnvironment;
  readonly read: SecretReader;
  readonly hostname: string;
  readonly deployment: boolean;
  /** What lies in the directories of `plugin_dirs`, as they are written. */
  readonly findPlugins: (directories: readonly string[]) => Promise<readonly FoundPlugin[]>;
}

export interface Validation {
  /** Null when there are errors. */
  readonly parsed: ParsedConfig | null;
  readonly errors: readonly ConfigIssue[];
  readonly warnings: readonly ConfigIssue[];
  /** The errors as one; null without errors. */
  readonly error: ConfigError | null;
  readonly secrets: readonly string[];
  readonly plugins: readonly FoundPlugin[];
}

export async function validateConfig(input: ValidationInput): Promise<Validation> {
  const { source, file, environment, read, hostname, deployment } = input;
  const { env } = environment;
  // fillEmpty keeps the shape: a mapping stays one.
  const written = fillEmpty(configSchema, source.tree) as TreeMap;
  const derived = derive(written, { env, hostname });
  const resolution = await resolveReferences(derived, env, read);
  const { tree, dropped, needed, droppedFindings } = dropUnresolvedOptional(
    resolution,
    optionalParts(derived, { deployment }),
  );
  const unresolved = [...environment.unresolved, ...needed];

  const result = configSchema.safeParse(tree);
  const refused = result.success ? [] : result.error.issues.filter((issue) => !isReported(issue.path, unresolved));
  const sound = result.success ? result.data : soundSections(tree);
  const found = admitPlugins(await input.findPlugins(sound.plugin_dirs ?? []));
  const checked = await checkPluginSettings(sound, found, derived);
  const { config: sections, plugins } = checked;
  const { checks, missing } = oncePerCause(
    crossCheck({ config: sections, env, dropped, plugins }),
    notImplementedFindings(derived, sections),
  );
  const errors = inOrder(
    [
      ...unresolved.map(unresolvedFinding),
      ...schemaFindings(refused, derived).map((one) => ofItsVariable(one, env)),
      ...checks.errors,
      ...checked.findings.errors,
      ...missing.errors,
    ],
    source,
  );
  const warnings = inOrder(
    [
      ...versionWarning(source.tree),
      ...unknownKeyWarnings(written),
      ...hardcodedSecretWarnings(written),
      ...droppedFindings,
      ...checks.warnings,
      ...missing.warnings,
      ...otherTargetWarnings(written, sections),
      ...rangeWarnings(sections),
    ],
    source,
  );
  return {
    parsed: result.success && errors.length === 0 ? { ...result.data, ...sections } : null,
    errors,
    warnings,
    error: toError(file, errors, unresolved),
    secrets: [...new Set([...collectSecrets(tree, resolution, env), ...checked.secrets])],
    plugins,
  };
}

/** Takes out the parts that nothing uses and whose references cannot be resolved. */
function dropUnresolvedOptional(resolution: Resolution, parts: readonly OptionalPart[]) {
  const needed: UnresolvedReference[] = [];
  const droppedFindings: Finding[] = [];
  const dropped = new Set<OptionalPart>();
  for (const reference of resolution.unresolved) {
    const part = parts.find(({ path }) => reference.source !== "syntax" && startsWith(reference.path, path));
    if (part === undefined) {
      needed.push(reference);
      continue;
    }
    dropped.add(part);
    const message = `${cannotResolve(reference)}; ${formatPath(part.path)} is left out: ${part.reason}`;
    droppedFindings.push({ path: reference.path, code: "left-out", message });
  }
  const tree = [...dropped].reduce((current, { path }) => withoutValue(current, path), resolution.tree);
  return { tree, dropped: [...dropped], needed, droppedFindings };
}

/** No advice about what is not there, and nothing more about a setting that is refused already. */
function oncePerCause(checks: Findings, missing: Findings): { readonly checks: Findings; readonly missing: Findings } {
  const absent = [...missing.errors, ...missing.warnings].map(({ path }) => path);
  const isRefused = (path: TreePath) => checks.errors.some((one) => formatPath(one.path) === formatPath(path));
  return {
    checks: {
      ...checks,
      warnings: checks.warnings.filter(({ path }) => !absent.some((part) => startsWith(path, part))),
    },
    missing: { ...missing, warnings: missing.warnings.filter(({ path }) => !isRefused(path)) },
  };
}

function isReported(path: readonly PropertyKey[], unresolved: readonly UnresolvedReference[]): boolean {
  return unresolved.some((reference) => reference.path.every((key, index) => path[index] === key));
}

function unresolvedFinding(reference: UnresolvedReference): Finding {
  const { path, reason, source } = reference;
  if (source === "syntax") {
    return { path, code: "invalid-value", found: describe(reference.reference, path), allowed: reason };
  }
  const hint = source === "variable" ? { hint: "set it in the environment or in .env" } : {};
  return { path, code: codeOfUnresolved(path), message: cannotResolve(reference), ...hint };
}

/** What is missing, where the setting itself shows it. */
function codeOfUnresolved([section, , key, ...more]: TreePath): FindingCode {
  if (more.length > 0) return "unresolved-reference";
  if (section === "providers" && key === "api_key") return "provider-key-missing";
  if (section === "channels" && (key === "token" || key === "app_token")) return "channel-token-missing";
  return "unresolved-reference";
}

function cannotResolve({ reference, reason, source }: UnresolvedReference): string {
  // The password manager's reader names the reference itself.
  return source === "password-manager" ? reason : `${reference} cannot be resolved: ${reason}`;
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

function versionWarning(tree: TreeMap): Finding[] {
  if (tree["version"] !== undefined) return [];
  return [
    {
      path: ["version"],
      code: "version-missing",
      message: `the file should begin with \`version: ${CONFIG_VERSION}\``,
    },
  ];
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

function collectSecrets(tree: TreeMap, resolution: Resolution, env: ServiceEnvironment["env"]): string[] {
  const secrets = new Set(resolution.secrets);
  for (const { path, text } of texts(tree)) {
    if (isSecretPath(path)) for (const secret of secretsIn(text)) secrets.add(secret);
  }
  for (const [name, value = ""] of Object.entries(env)) {
    const found = secretsIn(value).filter((secret) => isSecretVariable(name) || secret !== value);
    for (const secret of found) secrets.add(secret);
  }
  return [...secrets].filter((secret) => secret !== "");
}

/** As the file is read, from its top to its end. */
function inOrder(findings: readonly Finding[], source: YamlSource): ConfigIssue[] {
  const issues = findings.map((finding) => toIssue(finding, source.locate));
  return issues.toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0));
}

/** A value that a variable has in place of the file is wrong there, and not in the file. */
function ofItsVariable(finding: Finding, env: ServiceEnvironment["env"]): Finding {
  return finding.path.join(".") === "runtime.listen" && env["SERVICE_LISTEN"]
    ? { ...finding, path: ["SERVICE_LISTEN"] }
    : finding;
}
