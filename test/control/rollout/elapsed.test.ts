import { expect, it } from "vitest";
import { createElapsedClock } from "../../../control/rollout/elapsed.ts";

it("counts the time that the machine slept, and does not go back with the clock of the day", () => {
  const at = { monotonic: 5_000, wall: 1_000_000 };
  const elapsed = createElapsedClock(
    () => at.monotonic,
    () => at.wall,
  );
  const pass = (monotonic: number, wall: number): number => {
    at.monotonic += monotonic;
    at.wall += wall;
    return elapsed();
  };
  expect(pass(2_000, 2_003)).toBe(2_000);
  expect(pass(100, 600_100)).toBe(602_100);
  expect(pass(1_000, -3_600_000)).toBe(603_100);
  expect(pass(1_000, 1_000)).toBe(604_100);
});
