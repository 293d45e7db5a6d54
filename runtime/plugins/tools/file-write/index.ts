/** file_write: a whole file of the workspace, made or replaced in one step. */

import { ToolError } from "../../../contracts/errors.ts";
import type { NewId } from "../../../contracts/ports.ts";
import type { Tool } from "../../../contracts/tool.ts";
import { temporaryName, writeAtomically } from "../../../files/atomic-write.ts";
import { requireContext, stringArgument } from "../shared/arguments.ts";
import { assertNotInGit, type WorkspaceGate } from "../shared/locate.ts";
import { withParent } from "../shared/read-text.ts";

const MAX_BYTES = 16 * 1024 * 1024;

export function createFileWriteTool(deps: { readonly gate: WorkspaceGate; readonly newId: NewId }): Tool {
  return {
    name: "file_write",
    description:
      "Write a file of the workspace: creates it (and missing directories) or replaces it whole. " +
      "To change a part of an existing file use file_edit.",
    parameters: {
      type: "object",
      properties: {
        path: { type: "string", description: "Relative to the workspace, or absolute inside it." },
        content: { type: "string", description: "The whole new content, as UTF-8 text." },
      },
      required: ["path", "content"],
      additionalProperties: false,
    },
    pathArguments: ["path"],
    changedArguments: ["path"],
    async execute(args, signal, context) {
      const { workspace } = requireContext(context);
      const path = stringArgument(args, "path");
      if (path.endsWith("/"))
        throw new ToolError("TOOL_INVALID_ARGUMENTS", `${path}: a file's name cannot end in a slash.`);
      const data = Buffer.from(stringArgument(args, "content"), "utf8");
      if (data.byteLength > MAX_BYTES) {
        throw new ToolError(
          "TOOL_INVALID_ARGUMENTS",
          `${path}: ${data.byteLength} bytes are too many, at most ${MAX_BYTES} can be written.`,
        );
      }
      const located = await deps.gate.locate(workspace, path);
      assertNotInGit(located);
      const { created, bytes } = await withParent(located, true, (directory, name) =>
        writeAtomically(directory, name, data, {
          temporary: temporaryName(deps.newId()),
          ...(signal ? { signal } : {}),
        }),
      );
      return { content: `${created ? "Created" : "Replaced"} ${located.display} (${bytes} bytes).` };
    },
  };
}
