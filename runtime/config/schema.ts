/** The whole of cairn.yaml (specification, "Configuration"; the keys beyond it are the design's), one section a file. */
import { z } from "zod";
import { agentsSection } from "./schema/agents.ts";
import { channelsSection } from "./schema/channels.ts";
import { deploymentSection } from "./schema/deployment.ts";
import { memorySection } from "./schema/memory.ts";
import { meshSection, telemetrySection } from "./schema/mesh.ts";
import { pluginsSection } from "./schema/plugins.ts";
import { providersSection } from "./schema/providers.ts";
import { runtimeSection } from "./schema/runtime.ts";
import { integer, list, path, section } from "./schema/scalars.ts";
import { mcpSection, toolsSection } from "./schema/tools.ts";

/** The version that this program writes and the newest that it reads. */
export const CONFIG_VERSION = 1;

export const configSchema = section({
  version: integer({ min: 1 }).prefault(CONFIG_VERSION).describe("Version of this file's format."),
  runtime: runtimeSection.prefault({}),
  agents: agentsSection,
  providers: providersSection,
  channels: channelsSection,
  memory: memorySection.prefault({}),
  mesh: meshSection.meta({ derived: true }),
  tools: toolsSection.prefault({}),
  mcp: mcpSection.prefault({}),
  plugin_dirs: list(path()).default([]).describe("Directories with plugins, whose code runs with the node's rights."),
  plugins: pluginsSection,
  skill_dirs: list(path()).default([]).describe("Directories with skills: a folder with a SKILL.md each (skills.md)."),
  deployment: deploymentSection.prefault({}),
  telemetry: telemetrySection.prefault({}),
}).describe("Cairn's configuration: cairn.yaml.");

/** What the file holds once read: defaults filled, references resolved; durations in milliseconds, sizes in bytes. */
export type ParsedConfig = z.infer<typeof configSchema>;

/** JSON Schema (draft 2020-12) of the file as it is written, for editors. Keys that are known from others are optional. */
export function configJsonSchema(): Record<string, unknown> {
  const schema = z.toJSONSchema(configSchema, {
    io: "input",
    override: ({ zodSchema, jsonSchema }) => {
      delete jsonSchema["derived"];
      if (!(zodSchema instanceof z.ZodObject) || !jsonSchema.required) return;
      const required = jsonSchema.required.filter((key) => !isDerived(zodSchema.shape[key]));
      if (required.length > 0) jsonSchema.required = required;
      else delete jsonSchema.required;
    },
  });
  return { ...schema, title: "cairn.yaml" };
}

function isDerived(schema: unknown): boolean {
  return schema instanceof z.ZodType && schema.meta()?.["derived"] === true;
}
