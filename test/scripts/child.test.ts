import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ROOT } from "../../scripts/lib/paths.js";

it("keeps the exit code of the child", async () => {
  expect(await start("process.exit(7)").end).toBe(7);
});

it("reports the end by a signal as shells do", async () => {
  expect(await start("process.kill(process.pid, 'SIGKILL')").end).toBe(137);
});

it("passes signals on and waits for the child to end in its own way", async () => {
  const child = start("process.on('SIGTERM', () => process.exit(3)); setInterval(() => {}, 1000); console.log('up')");
  await child.up;
  child.kill("SIGTERM");
  expect(await child.end).toBe(3);
});

it("puts the chosen Node first on the path of the child", async () => {
  const code =
    "process.exit(process.env.PATH.startsWith(require('node:path').dirname(process.execPath) + ':') ? 0 : 1)";
  expect(await start(code).end).toBe(0);
});

function start(code: string) {
  const script = `import { runToEnd } from ${JSON.stringify(join(ROOT, "scripts/lib/child.js"))};
    process.exitCode = await runToEnd(process.execPath, ["-e", ${JSON.stringify(code)}]);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  return {
    up: once(child.stdout, "data"),
    end: once(child, "close").then(([exit]) => exit),
    kill: (signal: NodeJS.Signals) => child.kill(signal),
  };
}
