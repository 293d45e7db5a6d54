/** Writes `oclif.manifest.json`: names, flags and files of all commands, read instead of importing them at every start. */
// @ts-check

import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Plugin } from "@oclif/core/config";
import { ROOT } from "./lib/paths.js";

const plugin = new Plugin({ root: ROOT, isRoot: true, ignoreManifest: true, errorOnManifestCreate: true });
await plugin.load();
const file = join(ROOT, "oclif.manifest.json");
writeFileSync(`${file}.new`, `${JSON.stringify(plugin.manifest, undefined, 2)}\n`);
renameSync(`${file}.new`, file);
