/** The configuration that a setup finds. */

import { readFile } from "node:fs/promises";
import { API_TOKEN_VARIABLE, CONFIG_FILE, type Directories, inspectConfig } from "../../runtime/config/index.ts";
import { parseYaml } from "../../runtime/config/yaml-source.ts";
import { ConfigError } from "../../runtime/contracts/errors.ts";
import { systemWords } from "../../runtime/contracts/system-errors.ts";
import { exists } from "../../runtime/files/durable.ts";
import { inspectCurrent } from "../configuration/current.ts";
import { OFFLINE } from "./detect.ts";
import { type ExistingAnswers, existingAnswers } from "./existing.ts";
import type { InitOptions, InitResult } from "./setup.ts";

export interface Existing extends ExistingAnswers {
  readonly text: string;
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
  return { ...existingAnswers(source.tree), text };
}

export function alreadyThere(file: string): ConfigError {
  return new ConfigError("CONFIG_EXISTS", `There is a configuration already: ${file}. It was left as it is.`, {
    hint: "Change it with `cairn config`, or pass --force to write a new one; the old one is kept beside it.",
  });
}

/** What an interrupted setup has left whole, as a result; null without a cairn.yaml. */
export async function recoveredResult({ directories, env }: InitOptions): Promise<InitResult | null> {
  const { dir, home, file } = directories;
  if (!(await exists(file))) return null;
  const inspection = await inspectConfig({ dir, home, env, readSecret: async (reference) => reference }).catch(
    () => null,
  );
  const config = inspection?.loaded?.config;
  const agent = config?.runtime.default_agent ?? "main";
  const id = config?.agents[agent]?.provider ?? OFFLINE.id;
  const target = config?.deployment.target ?? "manual";
  return {
    dir,
    home,
    file,
    target,
    agent,
    agents: Object.keys(config?.agents ?? {}),
    channels: Object.keys(config?.channels ?? {}).filter((channel) => channel !== "agent"),
    listen: config?.runtime.listen ?? "127.0.0.1:7433",
    memory: config?.deployment.datahub.postgres ? "datahub" : (config?.memory.backend ?? "embedded"),
    provider: {
      id,
      kind: config?.providers[id]?.kind ?? OFFLINE.kind,
      source: "answers",
      reason: `written in ${CONFIG_FILE}`,
    },
    token: env[API_TOKEN_VARIABLE] ? "environment" : "file",
    files: [],
    diff: null,
    notes: [],
    next: target === "manual" ? ["cairn start", "cairn chat"] : ["cairn build", "cairn infra up"],
    recovered: true,
  };
}
