import type { ToolManifest } from "../manifest.ts";

export const skillManage = {
  kind: "tool",
  id: "skill_manage",
  about: "Write skills of the workspace",
  configuration: "tools.skill_manage",
  create: async ({ skillLibrary, gate, newId }) =>
    (await import("./index.ts")).createSkillManageTool({ library: skillLibrary, gate, newId }),
} as const satisfies ToolManifest;
