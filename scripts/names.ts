/** Refuses names with a word that has a better one (scripts/lib/refused-words.ts). Reads the project, or the folder that is given. */

import { globSync, readFileSync } from "node:fs";
import { join, sep } from "node:path";
import { refusedNames } from "./lib/names.ts";
import { ROOT } from "./lib/paths.js";

const FOLDERS = ["runtime", "control", "infra", "scripts", "bench", "test", "bin"];

const [root = ROOT] = process.argv.slice(2);
const files = FOLDERS.flatMap((folder) => globSync(`${folder}/**/*.{ts,js,mjs,cjs}`, { cwd: root })).map((file) =>
  file.split(sep).join("/"),
);
/** The list itself has each word as a key. */
const LIST = "scripts/lib/refused-words.ts";
const checked = files.filter((file) => file !== LIST);
const refused = checked.flatMap((file) => refusedNames(file, readFileSync(join(root, file), "utf8")));
for (const { file, line, name, instead } of refused) {
  process.stderr.write(`${file}:${line}: ${name}: write ${instead}\n`);
}
process.stdout.write(`${checked.length} files, ${refused.length} names with a word that ${LIST} refuses\n`);
process.exitCode = refused.length > 0 ? 1 : 0;
