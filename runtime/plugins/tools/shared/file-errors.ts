/** The file system's errors in words that a model can act on. */

import { CairnError, ToolError } from "../../../contracts/errors.ts";
import { codeOf } from "../../../contracts/system-errors.ts";
import { FileRefused } from "../../../files/refusal.ts";

const WORDS: Readonly<
  Record<string, readonly [code: "TOOL_INVALID_ARGUMENTS" | "TOOL_FAILED" | "TOOL_REFUSED", text: string]>
> = {
  ENOENT: ["TOOL_INVALID_ARGUMENTS", "no such file or directory"],
  ENOTDIR: ["TOOL_INVALID_ARGUMENTS", "a part of the path is a file, not a directory"],
  EISDIR: ["TOOL_INVALID_ARGUMENTS", "it is a directory"],
  ENAMETOOLONG: ["TOOL_INVALID_ARGUMENTS", "the name is too long"],
  ELOOP: ["TOOL_REFUSED", "symbolic links lead in a circle, or one was put in the way meanwhile"],
  EACCES: ["TOOL_FAILED", "permission denied"],
  EPERM: ["TOOL_FAILED", "operation not permitted"],
  EROFS: ["TOOL_FAILED", "the file system is read-only"],
  ENOSPC: ["TOOL_FAILED", "no space left on the device"],
  EDQUOT: ["TOOL_FAILED", "the disk quota is used up"],
  EMFILE: ["TOOL_FAILED", "too many open files in the service"],
};

/** `shown` is the path as the model wrote it. An error of ours passes unchanged. */
export function fileError(shown: string, error: unknown): CairnError {
  if (error instanceof CairnError) return error;
  if (error instanceof FileRefused) return refused(shown, error);
  const [code, text] = WORDS[codeOf(error) ?? ""] ?? ["TOOL_FAILED", "the file system reported an error"];
  return new ToolError(code, `${shown}: ${text}.`, { cause: error });
}

function refused(shown: string, error: FileRefused): ToolError {
  switch (error.reason) {
    case "symlink":
      return new ToolError(
        "TOOL_OUTSIDE_WORKSPACE",
        `${shown}: a symbolic link took its place while it was being opened.`,
        { cause: error },
      );
    case "special":
      return new ToolError("TOOL_REFUSED", `${shown}: ${error.message}; only regular files are opened.`, {
        cause: error,
      });
    case "too_large":
      return new ToolError("TOOL_INVALID_ARGUMENTS", `${shown}: ${error.message}.`, {
        cause: error,
        hint: "Use the shell (head, tail, sed -n, grep) for a part of it.",
      });
    case "hard_link":
      return new ToolError("TOOL_REFUSED", `${shown}: ${error.message}.`, { cause: error });
    case "directory":
    case "not_text":
      return new ToolError("TOOL_INVALID_ARGUMENTS", `${shown}: ${error.message}.`, { cause: error });
  }
}
