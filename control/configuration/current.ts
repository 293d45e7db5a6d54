/**
 * The configuration as the editing commands read it: the password manager is not called, and a variable that is not set
 * yet is no error, because the file itself is not wrong for that.
 */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { parseDocument } from "yaml";
import { derive } from "../../runtime/config/derive.ts";
import {
  CONFIG_FILE,
  type Config,
  type Inspection,
  inspectConfig,
  type LoadedConfig,
  mergeEnvironments,
  readSecretsFile,
} from "../../runtime/config/index.ts";
import { type Environment, parseTemplate } from "../../runtime/config/references.ts";
import { isMap, type TreeMap, texts } from "../../runtime/config/tree.ts";
import { parseYaml } from "../../runtime/config/yaml-source.ts";
import { ConfigError, RuntimeError } from "../../runtime/contracts/errors.ts";
import type { Deployment } from "../service/deployment.ts";

export interface Current {
  readonly inspection: Inspection;
  /** Variables that the file refers to and that are not set. */
  readonly missing: readonly string[];
}

export interface InspectOptions {
  /** Read in place of the deployment's cairn.yaml; its relative paths begin at the deployment's directory all the same. */
  readonly staged?: string;
  readonly signal?: AbortSignal | undefined;
}

/** Rejects as `inspectConfig` does where there is nothing to read. */
export async function inspectCurrent(
  { dir, home }: Pick<Deployment, "dir" | "home">,
  { staged = join(dir, CONFIG_FILE), signal }: InspectOptions = {},
): Promise<Current> {
  const env = mergeEnvironments((await readSecretsFile(dir)).values, process.env);
  // A file that is not there, or no YAML, is the inspection's to report.
  const text = await readFile(staged, "utf8").catch(() => "");
  const missing = missingVariables(parseDocument(text).toJS(), env);
  const inspection = await inspectConfig({
    dir,
    home,
    file: staged,
    env: { ...env, ...Object.fromEntries(missing.map((name) => [name, standIn(name)])) },
    readSecret: async (reference) => reference,
    ...(signal ? { signal } : {}),
  });
  return { inspection, missing };
}

/** With what lies in its plugin_dirs. Rejects as `loadedConfig`. */
export async function loadedPlugins(
  deployment: Deployment,
  signal?: AbortSignal,
): Promise<Pick<LoadedConfig, "config" | "plugins">> {
  const { inspection } = await inspectCurrent(deployment, { signal });
  const { loaded, error } = inspection;
  if (loaded === null) throw error ?? new ConfigError("CONFIG_INVALID", `${inspection.file} is not valid.`);
  return loaded;
}

/** CONFIG_INVALID, CONFIG_UNREADABLE or CONFIG_VERSION_UNSUPPORTED when there is nothing to work on. */
export async function loadedConfig(
  deployment: Deployment,
  signal?: AbortSignal,
): Promise<{ readonly config: Config; readonly missing: readonly string[] }> {
  const { inspection, missing } = await inspectCurrent(deployment, { signal });
  const { loaded, error } = inspection;
  if (loaded === null) throw error ?? new ConfigError("CONFIG_INVALID", "The configuration is not valid.");
  return { config: loaded.config, missing };
}

/** CONFIG_INVALID for null, which an edit gets where the file has stopped being valid. */
export function requireValid({ file }: Pick<Deployment, "file">, config: Config | null): Config {
  if (config !== null) return config;
  throw new ConfigError("CONFIG_INVALID", `${file} is not valid.`, { hint: "Nothing was changed." });
}

/** What the file says, and what follows from that, also where it is not valid yet. Rejects as `inspectConfig` does. */
export async function writtenTree(deployment: Deployment, signal?: AbortSignal): Promise<TreeMap> {
  await inspectCurrent(deployment, { signal });
  const { tree } = parseYaml(await readFile(deployment.file, "utf8"), deployment.file);
  return derive(tree, { env: {}, hostname: "" });
}

export function unknownAgent(name: string, config: Config): RuntimeError {
  return new RuntimeError("RUNTIME_NOT_FOUND", `There is no agent ${name}.`, {
    hint: `There are: ${Object.keys(config.agents).join(", ") || "none"}.`,
  });
}

/** The placeholder for a variable that is not set: the reference itself, but where only an address is allowed. */
export function standIn(name: string): string {
  return /_URL$/.test(name) ? "postgres://localhost/cairn" : `\${${name}}`;
}

function missingVariables(tree: unknown, env: Environment): string[] {
  if (!isMap(tree)) return [];
  // What a YAML file holds is a tree of plain values; other kinds are the inspection's to report.
  const derived = derive(tree as TreeMap, { env, hostname: "" });
  const needed = [...texts(derived)].flatMap(({ text }) => {
    const template = parseTemplate(text);
    // With a default it need not be set.
    return template.ok ? template.parts.filter((part) => part.kind === "variable" && part.fallback === undefined) : [];
  });
  const names = new Set(needed.flatMap((part) => (part.kind === "variable" ? [part.name] : [])));
  return [...names].filter((name) => !env[name]).sort();
}
