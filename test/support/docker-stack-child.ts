/** `up` of a stack in a process of its own, to be killed in the middle. Arguments: directory of the state, file of the input. */

import { readFile } from "node:fs/promises";
import process from "node:process";
import { createTestStack, type StackInput } from "./docker-stack.ts";

const [, , directory = "", file = ""] = process.argv;
const stack = await createTestStack(directory);
// The test wrote it.
await stack.up(JSON.parse(await readFile(file, "utf8")) as StackInput);
