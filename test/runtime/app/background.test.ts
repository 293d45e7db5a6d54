import { expect, it } from "vitest";
import { createBackground } from "../../../runtime/app/background.ts";

function withWarnings() {
  const warnings: string[] = [];
  const logger = { warn: (_fields: object, message: string) => void warnings.push(message) };
  return { warnings, logger };
}

it("starts work after what is going on now, and settles when all of it is done", async () => {
  const background = createBackground(withWarnings().logger);
  const done: string[] = [];
  background.run("first", async () => {
    done.push("first");
    background.run("second", async () => void done.push("second"));
  });
  expect(done).toEqual([]);
  await background.idle();
  expect(done).toEqual(["first", "second"]);
});

it("logs failures, thrown or rejected, and goes on", async () => {
  const { warnings, logger } = withWarnings();
  const background = createBackground(logger);
  background.run("throws", () => {
    throw new Error("at once");
  });
  background.run("rejects", () => Promise.reject(new Error("later")));
  let ran = false;
  background.run("works", async () => {
    ran = true;
  });
  await background.idle();
  expect(ran).toBe(true);
  expect(warnings).toHaveLength(2);
});

it("drops what comes on top of its limit, and says so", async () => {
  const { warnings, logger } = withWarnings();
  const background = createBackground(logger, 2);
  let runs = 0;
  for (let index = 0; index < 5; index += 1) {
    background.run("count", async () => {
      runs += 1;
    });
  }
  await background.idle();
  expect(runs).toBe(2);
  expect(warnings).toHaveLength(3);
});
