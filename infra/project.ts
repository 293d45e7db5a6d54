/**
 * A deployment directory as the infrastructure sees it: cairn.yaml, .env, workspace files and infra/release.json in, a plan and
 * the secrets that meet it in the Pulumi program out. Reads, and changes nothing.
 */

import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { cacheSecrets } from "../runtime/config/environment.ts";
import {
  type Config,
  type Environment,
  isPem,
  type LoadedConfig,
  loadConfig,
  readSecretsFile,
  type SecretReader,
} from "../runtime/config/index.ts";
import { createOnePasswordReader } from "../runtime/config/one-password.ts";
import { hasReference, isSecretReference } from "../runtime/config/references.ts";
import { configSchema } from "../runtime/config/schema.ts";
import { fillEmpty } from "../runtime/config/schema-walk.ts";
import { type TreeMap, valueAt } from "../runtime/config/tree.ts";
import { parseYaml } from "../runtime/config/yaml-source.ts";
import { certificatePin } from "../runtime/contracts/certificates.ts";
import { CairnError, InfraError, type Issue } from "../runtime/contracts/errors.ts";
import { codeOf } from "../runtime/contracts/system-errors.ts";
import { TLS_KEY_VARIABLE } from "./plan/node-configuration.ts";
import { planDeployment } from "./plan/plan.ts";
import { liftSecrets } from "./plan/secret-references.ts";
import { type DeploymentPlan, POSTGRES, type SecretValues } from "./plan/types.ts";
import { workspaceRoots } from "./plan/workspaces.ts";
import { registryLogin } from "./registry.ts";
import { readRelease } from "./release.ts";
import { readSeeds } from "./seeds.ts";
import { packageDirectory } from "./templates.ts";

export interface ProjectOptions {
  /** Deployment directory. */
  readonly dir: string;
  readonly home?: string;
  /** Default: the environment of the process. */
  readonly env?: Environment;
  /** Reads `op://` references; default: the `op` command. */
  readonly readSecret?: SecretReader;
  /** Default: this program's. */
  readonly version?: string;
  readonly signal?: AbortSignal;
}

export interface Project {
  /** Absolute. */
  readonly dir: string;
  readonly plan: DeploymentPlan;
  readonly secrets: SecretValues;
  /** SHA-256 fingerprint of the certificate that nodes are given (contracts/certificates.ts); null without TLS, and where each makes its own. */
  readonly certificate: string | null;
  readonly warnings: readonly Issue[];
  /** Everything that must not be printed. */
  readonly redactValues: readonly string[];
}

/** Errors of `loadConfig`, `planDeployment`, `readRelease`; INFRA_PLAN_INVALID where a certificate cannot be read. */
export async function readProject(options: ProjectOptions): Promise<Project> {
  const { signal } = options;
  const processEnv = options.env ?? process.env;
  const readSecret = cacheSecrets(options.readSecret ?? onePassword(processEnv, signal));
  const loaded = await loadConfig({
    dir: options.dir,
    ...(options.home === undefined ? {} : { home: options.home }),
    env: processEnv,
    deployment: true,
    readSecret,
    ...(signal ? { signal } : {}),
  });
  const { dir, config, env } = loaded;
  const written = fillEmpty(configSchema, parseYaml(await readFile(loaded.file, "utf8"), loaded.file).tree) as TreeMap;
  const lifted = liftSecrets(written, env);
  const tls = await readTls(config, written);
  const values = nonEmpty({
    ...env,
    ...lifted.variables,
    ...(tls.key === null ? {} : { [TLS_KEY_VARIABLE]: tls.key }),
  });
  const secretTexts = [...loaded.secrets, ...Object.values(lifted.variables), ...(tls.key === null ? [] : [tls.key])];
  const seeds = await readSeeds({
    roots: workspaceRoots(config),
    dir,
    secrets: secretTexts,
    ...(signal ? { signal } : {}),
  });
  const inFile = Object.keys(nonEmpty((await readSecretsFile(dir)).values));
  const { plan, warnings } = planDeployment({
    tree: lifted.tree,
    config,
    variables: { inFile, available: Object.keys(values) },
    certificate: tls.certificate,
    tlsKeyFile: tls.key !== null,
    seeds: seeds.files,
    release: await readRelease(dir),
    version: options.version ?? programVersion(),
  });
  const variables = await resolveVariables(plan, values, readSecret);
  return {
    dir,
    plan,
    secrets: { variables, registry: registryLogin(config.deployment.image) },
    certificate: pinOf(config, tls.certificate),
    warnings: [...loaded.warnings, ...seeds.warnings, ...warnings],
    redactValues: [...new Set([...secretTexts, ...redactable(variables, loaded)])].filter((text) => text !== ""),
  };
}

function onePassword(env: Environment, signal: AbortSignal | undefined): SecretReader {
  return createOnePasswordReader({ env, ...(signal ? { signal } : {}) });
}

/** The files that `runtime.tls` names. Texts that come by reference travel as any other variable. */
async function readTls(
  { runtime: { tls } }: Config,
  written: TreeMap,
): Promise<{ readonly certificate: string | null; readonly key: string | null }> {
  if (typeof tls === "string") return { certificate: null, key: null };
  const read = async (name: "cert" | "key"): Promise<string | null> => {
    const text = valueAt(written, ["runtime", "tls", name]);
    if (isPem(tls[name])) {
      if (typeof text === "string" && hasReference(text)) return null;
      return tls[name];
    }
    try {
      return await readFile(tls[name], "utf8");
    } catch (cause) {
      const code = codeOf(cause) ?? "unknown error";
      throw new InfraError("INFRA_PLAN_INVALID", `runtime.tls.${name}: ${tls[name]} cannot be read (${code}).`, {
        cause,
        issues: [{ path: `runtime.tls.${name}`, message: `cannot be read (${code})` }],
        hint: "The file is copied to the nodes: give one that this user may read.",
      });
    }
  };
  return { certificate: await read("cert"), key: await read("key") };
}

/** Of the file's text, else of the text that the configuration holds or refers to. */
function pinOf({ runtime: { tls } }: Config, file: string | null): string | null {
  if (typeof tls === "string") return null;
  return certificatePin(file ?? tls.cert);
}

/** Every value that a node's `.env` holds, apart from the database's address, which the program makes. */
async function resolveVariables(
  plan: DeploymentPlan,
  values: Readonly<Record<string, string>>,
  readSecret: SecretReader,
): Promise<Record<string, string>> {
  const names = new Set(plan.nodes.flatMap(({ secretVariables }) => secretVariables));
  if (plan.postgres !== null) names.delete(POSTGRES.variable);
  const resolved: Record<string, string> = {};
  for (const name of [...names].sort()) {
    const value = values[name];
    if (value === undefined) continue;
    resolved[name] = isSecretReference(value) ? await ask(name, value, readSecret) : value;
  }
  return resolved;
}

/** All of `.env` reaches the nodes: a reference that cannot be read is an error here, and not at a node's start. */
async function ask(name: string, reference: string, readSecret: SecretReader): Promise<string> {
  try {
    return await readSecret(reference);
  } catch (error) {
    if (!(error instanceof CairnError)) throw error;
    throw new InfraError("INFRA_PLAN_INVALID", `${name}: ${error.message}`, {
      cause: error,
      issues: [{ path: name, message: error.message }],
      ...(error.details.hint === undefined ? {} : { hint: error.details.hint }),
    });
  }
}

/** Values that came from the password manager, or are called secrets; `debug` and `true` are neither. */
function redactable(variables: Readonly<Record<string, string>>, { secrets, env }: LoadedConfig): string[] {
  const values = new Set(secrets);
  return Object.entries(variables)
    .filter(([name, value]) => values.has(value) || env[name] !== value)
    .map(([, value]) => value);
}

function nonEmpty(env: Environment): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== ""),
  );
}

function programVersion(): string {
  const { version }: { version: string } = JSON.parse(readFileSync(join(packageDirectory(), "package.json"), "utf8"));
  return version;
}
