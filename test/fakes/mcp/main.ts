/** The fake as a program over its standard streams: `node test/fakes/mcp/main.ts '{"many": 3}'`, or `@FILE` with the same in it. */

import { spawn } from "node:child_process";
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { createMcpFake, fakeState, type McpFakeOptions } from "./server.ts";

interface ProgramOptions extends McpFakeOptions {
  /** Written to its output before and between messages. */
  readonly garbage?: boolean;
  /** Bytes written to its error output at once. */
  readonly errors?: number;
  /** Does not end by SIGTERM. */
  readonly stubborn?: boolean;
  /** File that gets its process id and that of a program that it starts, a line each. */
  readonly pids?: string;
  /** File: ends at once with code 7 where it is not there, and makes it. */
  readonly failsOnce?: string;
}

const [, , given = "{}"] = process.argv;
const options: ProgramOptions = JSON.parse(given.startsWith("@") ? readFileSync(given.slice(1), "utf8") : given);
if (options.failsOnce !== undefined && !existsSync(options.failsOnce)) {
  writeFileSync(options.failsOnce, "");
  process.exit(7);
}
if (options.stubborn) process.on("SIGTERM", () => undefined);
if (options.pids !== undefined) {
  const code = options.stubborn
    ? "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)"
    : "setInterval(() => {}, 1000)";
  const other = spawn(process.execPath, ["-e", code], { stdio: "ignore" });
  appendFileSync(options.pids, `${process.pid}\n${other.pid}\n`);
}
if (options.garbage) process.stdout.write('Welcome!\n{"half": \n[1]\n\u0000\u0001\n');
if (options.errors !== undefined) process.stderr.write(`${"e".repeat(options.errors)}\nthe last words\n`);
if (options.stubborn) setInterval(() => undefined, 1_000);
await createMcpFake(options, fakeState(options)).connect(new StdioServerTransport());
