import type { ToolManifest } from "../manifest.ts";

export const skillList = {
  kind: "tool",
  id: "skill_list",
  about: "List skills, and read one",
  configuration: "tools.skill_list",
  create: async ({ skills }) => (await import("./index.ts")).createSkillListTool({ skills }),
} as const satisfies ToolManifest;
