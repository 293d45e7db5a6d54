/** `up` in a process of its own, for tests that kill it: `node up-child.ts FOLDER PLAN-FILE`. */

import { readFileSync } from "node:fs";
import { openStack } from "./stack.ts";

const [folder = "", file = ""] = process.argv.slice(2);
const stack = await openStack(folder, JSON.parse(readFileSync(file, "utf8")));
await stack.up();
