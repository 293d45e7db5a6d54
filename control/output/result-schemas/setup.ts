/** Results of the commands that write or read a configuration, and of what is installed with the program. */

import { z } from "zod";
import { LOADED_KINDS, PLUGIN_KINDS } from "../../../runtime/contracts/plugin.ts";
import { edit, issue } from "./parts.ts";

const agent = z.strictObject({
  name: z.string(),
  description: z.string().nullable(),
  default: z.boolean(),
  provider: z.string(),
  model: z.string().nullable(),
  thinking: z.string(),
  fallbacks: z.array(z.string()),
  workspace: z.string(),
  node: z.string().nullable(),
  channels: z.array(z.string()),
});

const plugin = z.strictObject({
  name: z.string(),
  kind: z.enum(PLUGIN_KINDS).nullable(),
  about: z.string(),
  version: z.string().nullable(),
  source: z.enum(["built-in", "directory"]),
  path: z.string().nullable(),
  configuration: z.string().nullable(),
  used_by: z.array(z.string()),
  state: z
    .enum(["loaded", "failed", "off"])
    .nullable()
    .describe("Of one in plugin_dirs, as the running node has it; null where no node says"),
  problem: z.string().nullable(),
});

const skillIssue = z.strictObject({
  file: z.string(),
  key: z.string().nullable().describe("Of the front matter; null where it is about the file"),
  line: z.number().int().nullable(),
  message: z.string(),
});

const switched = edit.extend({ agent: z.string(), provider: z.string(), model: z.string().nullable() });

export const init = z.strictObject({
  dir: z.string(),
  home: z.string(),
  file: z.string(),
  target: z.enum(["manual", "docker", "proxmox", "kubernetes"]),
  agent: z.string().describe("The default one"),
  agents: z.array(z.string()),
  channels: z.array(z.string()),
  listen: z.string(),
  url: z.string(),
  memory: z.enum(["embedded", "postgres", "datahub"]),
  provider: z.looseObject({ id: z.string(), kind: z.string(), source: z.string(), reason: z.string() }),
  token: z.enum(["generated", "file", "environment"]).describe("Where the owner's token comes from"),
  files: z.array(
    z.strictObject({
      path: z.string(),
      action: z.enum(["created", "kept", "extended", "replaced", "updated"]),
    }),
  ),
  diff: z.string().nullable(),
  notes: z.array(z.string()),
  next: z.array(z.string()),
});

export const SETUP_SCHEMAS = {
  init,
  config: init,
  "config-validate": z.strictObject({
    valid: z.boolean(),
    file: z.string(),
    errors: z.array(issue),
    warnings: z.array(issue),
  }),
  "agent-list": z.strictObject({ agents: z.array(agent) }),
  "agent-add": edit.extend({ agent: z.string(), workspaceFiles: z.array(z.string()) }),
  "agent-remove": edit.extend({ agent: z.string(), workspace: z.string() }),
  provider: z.union([
    z.strictObject({
      providers: z.array(
        z.strictObject({
          id: z.string(),
          kind: z.string(),
          model: z.string(),
          base_url: z.string().nullable(),
          key: z.enum(["set", "missing", "login", "none"]),
          agents: z.array(z.string()),
        }),
      ),
    }),
    switched,
  ]),
  model: z.union([
    z.strictObject({ models: z.array(agent.pick({ name: true, provider: true, model: true })) }),
    switched,
  ]),
  login: z.strictObject({
    schema: z.literal(1),
    action: z.enum(["login", "logout", "status"]),
    provider: z.string(),
    logged_in: z.boolean().describe("Whether a call could be made now, maybe after a refresh"),
    changed: z.boolean(),
    file: z
      .string()
      .nullable()
      .describe("Of this machine; null where it is about nodes, and where a logout of one removed nothing here"),
    expires_at: z.string().nullable(),
    renewable: z.boolean(),
    scopes: z.array(z.string()),
    in_use: z.boolean().describe("False where an API key of the configuration comes first"),
    problem: z.string().nullable().describe("Why a login that is there cannot be used; null: nothing is known"),
    deployed: z.boolean().describe("Whether it is about nodes of a deployed stack"),
    nodes: z
      .array(
        z.strictObject({
          node: z.string(),
          logged_in: z.boolean(),
          expires_at: z.string().nullable(),
          renewable: z.boolean(),
          scopes: z.array(z.string()),
          in_use: z.boolean(),
          problem: z.string().nullable().describe("Why there is none that can be used, where that is known"),
        }),
      )
      .describe("Those that it is about; empty for the login of this machine"),
  }),
  "plugins-list": z.strictObject({ plugins: z.array(plugin) }),
  "plugins-info": plugin,
  "plugin-init": z.strictObject({
    name: z.string(),
    kind: z.enum(LOADED_KINDS),
    path: z.string(),
    files: z.array(z.string()),
  }),
  "plugin-add": edit.extend({
    plugin: z.string(),
    kind: z.enum(LOADED_KINDS),
    version: z.string().nullable(),
    path: z.string(),
    provides: z.array(z.string()).describe("Names of the tools or hooks that it brings"),
    integrity: z.string().nullable().describe("Of the archive that was installed; null for a folder"),
    replaced: z.string().nullable().describe("The version whose place it takes; null: there was none"),
  }),
  "plugin-remove": edit.extend({
    plugin: z.string(),
    path: z.string().nullable().describe("Its folder; null where there was no such plugin"),
    installed: z
      .boolean()
      .describe(
        "Whether `plugin add` installed it: the next command that installs or removes a package deletes its folder",
      ),
  }),
  "skills-list": z.strictObject({
    skills: z.array(
      z.strictObject({
        name: z.string(),
        description: z.string(),
        triggers: z.array(z.string()),
        license: z.string().nullable(),
        compatibility: z.string().nullable(),
        path: z.string(),
        source: z.enum(["skill_dirs", "workspace"]),
        agents: z.array(z.string()).describe("That get it"),
        problem: z.string().nullable().describe("Why agents do not get it"),
      }),
    ),
  }),
  "skill-init": z.strictObject({ name: z.string(), path: z.string(), files: z.array(z.string()) }),
  "skill-validate": z.strictObject({
    valid: z.boolean(),
    name: z.string(),
    path: z.string(),
    errors: z.array(skillIssue),
    warnings: z.array(skillIssue),
  }),
  completion: z.strictObject({ shell: z.enum(["bash", "zsh", "fish"]), script: z.string() }),
} as const;
