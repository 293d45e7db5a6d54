import { spawn } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";

it("a process with something that hangs ends once its reader has everything, with its exit code", async () => {
  const program = fileURLToPath(new URL("./never-ending.ts", import.meta.url));
  const child = spawn(process.execPath, [program], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  // A reader that takes its time.
  await sleep(300);
  let read = 0;
  child.stdout.on("data", (piece: Buffer) => {
    read += piece.length;
  });
  const [code] = await once(child, "close");
  expect({ code, read }).toEqual({ code: 7, read: 1_000_000 });
});
