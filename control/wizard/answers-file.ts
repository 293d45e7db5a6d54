/** The file of `--answers`. */
import { readFile } from "node:fs/promises";
import { parseYaml } from "../../runtime/config/yaml-source.ts";
import { ConfigError, ConfigValidationError } from "../../runtime/contracts/errors.ts";
import { systemWords } from "../../runtime/contracts/system-errors.ts";
import type { AnswerTree } from "./answer-tree.ts";

const SHAPE = "the file must be a mapping of answers, such as `timezone: Europe/Berlin`";

/** The answers in a YAML or JSON file, not yet checked. CONFIG_UNREADABLE, with line and column where it is no YAML. */
export async function readAnswersFile(path: string): Promise<AnswerTree> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    const { reason, hint = "Check the path of --answers." } = systemWords(error);
    throw new ConfigError("CONFIG_UNREADABLE", `The answers file ${path} cannot be read (${reason}).`, {
      cause: error,
      hint,
    });
  }
  try {
    return parseYaml(text, path, SHAPE).tree;
  } catch (error) {
    if (!(error instanceof ConfigValidationError)) throw error;
    throw new ConfigError("CONFIG_UNREADABLE", `The answers file ${error.message}`, { ...error.details, cause: error });
  }
}
