import type { ToolManifest } from "../manifest.ts";

export const codingPipeline = {
  kind: "tool",
  id: "coding_pipeline",
  about: "Change a git repository in rounds of edits, checks and reviews",
  configuration: "tools.coding_pipeline",
  async create({ shell, coding, ...needs }) {
    const { createCommandRunner } = await import("../shell/command-runner.ts");
    const runCommand = createCommandRunner({ ...needs, settings: shell });
    return (await import("./index.ts")).createCodingPipelineTool({ ...needs, settings: coding, runCommand });
  },
} as const satisfies ToolManifest;
