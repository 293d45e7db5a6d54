/** The file of `--answers`. */
import { readFile } from "node:fs/promises";
import { parseDocument } from "yaml";
import { ConfigError } from "../../runtime/contracts/errors.ts";
import { type AnswerTree, isTree } from "./answer-tree.ts";
import { codeOf } from "./files.ts";

/** The answers in a YAML or JSON file, not yet checked. ConfigError when it cannot be read. */
export async function readAnswersFile(path: string): Promise<AnswerTree> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    throw new ConfigError("CONFIG_UNREADABLE", `The answers file ${path} cannot be read (${codeOf(error)}).`, {
      cause: error,
    });
  }
  const document = parseDocument(text);
  const [broken] = document.errors;
  if (broken)
    throw new ConfigError("CONFIG_UNREADABLE", `The answers file ${path} is neither YAML nor JSON: ${broken.message}`);
  const value: unknown = document.toJS();
  if (value === null) return {};
  if (!isTree(value)) {
    throw new ConfigError("CONFIG_UNREADABLE", `The answers file ${path} must be a mapping of answers.`);
  }
  return value;
}
