/**
 * `manifest.js FOLDER FILE`: writes names, flags and places of all commands compiled below FOLDER, as oclif wants to find them
 * once FOLDER is called `dist`. It reads that instead of importing every command at every start.
 */
// @ts-check

import { readFileSync, writeFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import process from "node:process";
import { Plugin } from "@oclif/core/config";
import { ROOT } from "./lib/paths.js";

const [folder = "", file = ""] = process.argv.slice(2);
const target = relative(ROOT, folder);
const pjson = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
pjson.oclif.commands.target = join(target, "control", "commands");

const options = { root: ROOT, isRoot: true, pjson, ignoreManifest: true, errorOnManifestCreate: true };
const plugin = new Plugin(options);
await plugin.load();
const commands = Object.entries(plugin.manifest.commands).map(([id, command]) => {
  const inside = (command.relativePath ?? []).slice(target.split(sep).length);
  return [id, { ...command, relativePath: ["dist", ...inside] }];
});
const manifest = { ...plugin.manifest, commands: Object.fromEntries(commands) };
writeFileSync(file, `${JSON.stringify(manifest, undefined, 2)}\n`);
