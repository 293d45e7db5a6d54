import type { Database } from "../../../contracts/database.ts";
import type { PluginManifest } from "../../../contracts/plugin.ts";
import type { PostgresSettings } from "./index.ts";

export const postgres = {
  kind: "memory",
  id: "postgres",
  about: "PostgreSQL with pgvector",
  configuration: "memory.postgres",
  create: async (options) => (await import("./index.ts")).openPostgres(options),
} as const satisfies PluginManifest<"memory", PostgresSettings, Database>;
