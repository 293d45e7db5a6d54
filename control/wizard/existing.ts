/** The configuration that a setup finds, and what it answers already. What is a reference there, or is not understood, is not changed. */
import { readFile } from "node:fs/promises";
import { derive } from "../../runtime/config/derive.ts";
import type { Directories } from "../../runtime/config/index.ts";
import { holdsSecret } from "../../runtime/config/secret-values.ts";
import { type Tree, type TreeMap, valueAt } from "../../runtime/config/tree.ts";
import { parseYaml } from "../../runtime/config/yaml-source.ts";
import { ConfigError } from "../../runtime/contracts/errors.ts";
import { systemWords } from "../../runtime/contracts/system-errors.ts";
import { exists } from "../../runtime/files/durable.ts";
import { inspectCurrent } from "../configuration/current.ts";
import { type AnswerPath, type AnswerTree, answerLeaves, isTree, patternOf, withAnswer } from "./answer-tree.ts";
import { CHANNEL_IDS, settingFields } from "./channel-catalogue.ts";

export interface Existing extends ExistingAnswers {
  readonly text: string;
  /** Of the embedded store, where the file gives it: another backend takes it out of the file. */
  readonly storePath: string | null;
  /** Whether the node serves TLS. */
  readonly tls: boolean;
}

/**
 * Null without a cairn.yaml. CONFIG_VERSION_UNSUPPORTED for a newer one, CONFIG_INVALID with line and column where it is no YAML;
 * a file with other errors can be repaired.
 */
export async function readExisting(
  directories: Pick<Directories, "dir" | "home" | "file">,
  signal?: AbortSignal,
): Promise<Existing | null> {
  const { file } = directories;
  if (!(await exists(file))) return null;
  const { inspection } = await inspectCurrent(directories, { signal });
  const text = await readFile(file, "utf8").catch((error: unknown) => {
    const { reason, hint = "Check its permissions." } = systemWords(error);
    throw new ConfigError("CONFIG_UNREADABLE", `The configuration ${file} cannot be read (${reason}).`, {
      cause: error,
      hint,
    });
  });
  // A file that is no mapping is the inspection's to report.
  const source = parseYaml(text, file);
  if (inspection.loaded === null && Object.keys(source.tree).length === 0 && inspection.error) throw inspection.error;
  const path = valueAt(source.tree, ["memory", "embedded", "path"]);
  return {
    ...existingAnswers(source.tree),
    text,
    storePath: typeof path === "string" ? path : null,
    tls: servesTls(source.tree),
  };
}

/** By `runtime.tls`, which a mesh sets to `auto` where it is absent. */
function servesTls(tree: TreeMap): boolean {
  const tls = valueAt(tree, ["runtime", "tls"]);
  return tls == null ? valueAt(tree, ["mesh", "enabled"]) === true : tls !== "off" && tls !== false;
}

export function alreadyThere(file: string): ConfigError {
  return new ConfigError("CONFIG_EXISTS", `There is a configuration already: ${file}. It was not changed.`, {
    hint: "Change it with `cairn config`, or pass --force to write a new one; the old one is kept beside it.",
  });
}

export interface ExistingAnswers {
  readonly tree: AnswerTree;
  /** Ids of answers that the file gives in a way that a setup does not change: `${NAME}`, or nothing that is allowed. */
  readonly pinned: readonly string[];
}

/** `tree` is cairn.yaml as it was written. */
function existingAnswers(tree: TreeMap): ExistingAnswers {
  const whole = derive(tree, { env: {}, hostname: "" });
  const leaves = new Map(answerLeaves().map((leaf) => [leaf.id, leaf]));
  const pinned: string[] = [];
  let answers: AnswerTree = {};
  const take = (path: AnswerPath, value: unknown): void => {
    if (value === undefined || value === null) return;
    const leaf = leaves.get(patternOf(path));
    const secret = typeof value === "string" && holdsSecret(value);
    const plain = !secret && !JSON.stringify(value).includes("${") && !String(value).startsWith("op://");
    const allowed =
      value !== "" && (leaf === undefined || leaf.form === "names" || leaf.schema.safeParse(value).success);
    if (plain && allowed) answers = withAnswer(answers, path, value);
    else pinned.push(path.join("."));
  };
  const at = (...path: string[]): Tree | undefined => valueAt(whole, path);

  takeDeployment(at, take, pinned);
  take(["listen"], at("runtime", "listen"));
  take(["timezone"], at("runtime", "timezone"));
  const agent = takeAgents(at, take);
  takeProvider(at, take, at("agents", agent, "provider"));
  takeChannels(at, take);
  takeModels(at, take, pinned);
  return { tree: answers, pinned };
}

type At = (...path: string[]) => Tree | undefined;
type Take = (path: AnswerPath, value: unknown) => void;

function takeDeployment(at: At, take: Take, pinned: string[]): void {
  for (const key of ["target", "name"]) take(["deployment", key], at("deployment", key));
  for (const { path, form } of answerLeaves()) {
    if (path[0] === "deployment" && path.length === 3 && form === "value") take(path, at(...path));
  }
  for (const key of ["publish", "shared_storage"]) take(["deployment", key], at("deployment", "datahub", key));
  const nodes = at("deployment", "nodes");
  for (const node of Array.isArray(nodes) ? nodes : []) {
    if (!isTree(node) || typeof node["name"] !== "string" || node["name"].includes("${")) {
      pinned.push("deployment.nodes");
      continue;
    }
    const path = ["deployment", "nodes", node["name"]];
    take([...path, "name"], node["name"]);
    for (const key of ["host", "address", "pve_node"]) take([...path, key], node[key]);
  }
  const deployed = at("deployment", "datahub", "postgres") === true;
  const own = at("memory", "postgres") === undefined ? "embedded" : "postgres";
  take(["memory"], deployed ? "datahub" : own);
}

/** The default agent comes first. Its name. */
function takeAgents(at: At, take: Take): string {
  const agents = at("agents");
  const names = isTree(agents) ? Object.keys(agents) : [];
  const chosen = at("runtime", "default_agent");
  const [first = "main"] = typeof chosen === "string" && names.includes(chosen) ? [chosen] : names;
  for (const name of [first, ...names.filter((other) => other !== first)]) {
    if (!names.includes(name)) continue;
    take(["agents", name, "name"], name);
    take(["agents", name, "thinking"], at("agents", name, "default_thinking"));
    if (name === first) continue;
    take(["agents", name, "provider"], at("agents", name, "provider"));
    take(["agents", name, "model"], at("agents", name, "model"));
  }
  return first;
}

function takeProvider(at: At, take: Take, id: Tree | undefined): void {
  if (typeof id !== "string") return;
  take(["provider", "id"], id);
  for (const key of ["kind", "base_url", "model"]) take(["provider", key], at("providers", id, key));
  take(["provider", "api_key_variable"], variableOf(at("providers", id, "api_key")));
}

/** What is set up already is a matter of its own keys; a setup asks only where there is nothing. */
function takeModels(at: At, take: Take, pinned: string[]): void {
  const isThere = (key: string): boolean => Object.keys(Object(at("memory", key))).length > 0;
  if (isThere("embedding")) pinned.push("embedding.model", "embedding.base_url");
  else take(["embedding", "model"], "off");
  if (isThere("summarizer")) pinned.push("summaries");
  else take(["summaries"], false);
}

function takeChannels(at: At, take: Take): void {
  for (const id of CHANNEL_IDS) {
    // One that is switched off is nothing that a setup has to know.
    if (at("channels", id) === undefined || at("channels", id, "enabled") === false) continue;
    const path = ["channels", id];
    take([...path, "id"], id);
    take([...path, "token_variable"], variableOf(at("channels", id, "token")));
    take([...path, "owner_id"], at("channels", id, "owner_id"));
    take([...path, "bindings"], at("channels", id, "channel_bindings"));
    for (const { key, variable } of settingFields(id)) {
      const value = at("channels", id, ...key.split("."));
      take([...path, "settings", key], variable === undefined ? value : variableOf(value));
    }
  }
}

/** `NAME` of `${NAME}`; nothing that is a name for what is written in another way, which is left alone then: it may be the secret. */
function variableOf(value: Tree | undefined): unknown {
  if (value === undefined || value === null) return value;
  return typeof value === "string" ? (/^\$\{(\w+)\}$/.exec(value)?.[1] ?? "") : "";
}
