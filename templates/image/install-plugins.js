/**
 * Installs what each plugin needs, beside its manifest, while the image is built: `install-plugins.js ARCH FOLDER`. A plugin
 * without dependencies of its own finds the packages of the node.
 */
// @ts-check

import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

const OPTIONS = ["--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier"];
const STRIP = fileURLToPath(new URL("strip-packages.js", import.meta.url));

const [architecture = "", folder = ""] = process.argv.slice(2);
const cpu = run(process.execPath, [STRIP, "--cpu", architecture], ".", "pipe");
const manifests = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((path) =>
  /(?:^|\/)package\.json$/.test(path),
);
for (const manifest of manifests) install(resolve(folder, dirname(manifest)));

/** @param {string} plugin */
function install(plugin) {
  const file = join(plugin, "package.json");
  const manifest = JSON.parse(readFileSync(file, "utf8"));
  const wanted = { ...manifest.dependencies, ...manifest.optionalDependencies };
  if (Object.keys(wanted).length === 0) return;
  const locked = ["package-lock.json", "npm-shrinkwrap.json"].some((name) => existsSync(join(plugin, name)));
  process.stdout.write(`plugin ${plugin}: ${Object.keys(wanted).join(", ")}\n`);
  if (!locked) {
    // npm would ask the registry about what only the author needs, and for Cairn itself, of which the node gives its own copy. The
    // plugin's own file replaces this one when its code is copied.
    const { devDependencies: _, peerDependencies, ...others } = manifest;
    const { "cairn-agents": __, ...peers } = peerDependencies ?? {};
    writeFileSync(file, JSON.stringify({ ...others, peerDependencies: peers }));
  }
  const platform = ["--os=linux", "--libc=glibc", `--cpu=${cpu}`];
  run("npm", [locked ? "ci" : "install", ...OPTIONS, ...platform], plugin, "inherit");
  if (!locked) rmSync(join(plugin, "package-lock.json"), { force: true });
  const packages = join(plugin, "node_modules");
  if (existsSync(packages)) run(process.execPath, [STRIP, architecture, packages], plugin, "inherit");
}

/** @param {string} file @param {readonly string[]} args @param {string} cwd @param {"pipe" | "inherit"} stdout */
function run(file, args, cwd, stdout) {
  const result = spawnSync(file, args, { cwd, stdio: ["ignore", stdout, "inherit"], encoding: "utf8" });
  if (result.status !== 0) throw new Error(`${file} ${args[0]} in ${cwd} ended with ${result.status ?? result.signal}`);
  return result.stdout ?? "";
}
