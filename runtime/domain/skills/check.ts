/** What `skill validate` says of a skill, from its text and the names of its files. Pure. */

import {
  MAX_SKILL_BYTES,
  MAX_SKILL_DEPTH,
  MAX_SKILL_FILES,
  SKILL_FILE,
  type SkillIssue,
} from "../../contracts/skill.ts";
import { parseSkill } from "./front-matter.ts";
import { checkReferences, pathProblem } from "./references.ts";

/** `files` are relative to the folder, with SKILL.md. */
export function checkSkillText(folder: string, text: string, files: readonly string[]): readonly SkillIssue[] {
  return [...parseSkill(folder, text).issues, ...checkReferences(text, files)];
}

/** Of what is to be written: its bounds and its paths, besides. */
export function checkNewSkill(folder: string, text: string, files: readonly string[]): readonly SkillIssue[] {
  const issue = (file: string, message: string): SkillIssue => ({
    severity: "error",
    file,
    key: null,
    line: null,
    message,
  });
  const paths = files.flatMap((file) => {
    const isTooDeep = file.split("/").length > MAX_SKILL_DEPTH + 1;
    const problem = pathProblem(file) ?? (isTooDeep ? `lies in more than ${MAX_SKILL_DEPTH} folders` : null);
    return problem === null ? [] : [issue(file, problem)];
  });
  return [
    ...(Buffer.byteLength(text) > MAX_SKILL_BYTES ? [issue(SKILL_FILE, `has more than ${MAX_SKILL_BYTES} bytes`)] : []),
    ...(files.length > MAX_SKILL_FILES ? [issue(".", `has more than ${MAX_SKILL_FILES} files`)] : []),
    ...paths,
    ...checkSkillText(folder, text, files),
  ];
}
