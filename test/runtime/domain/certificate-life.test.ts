import { describe, expect, it } from "vitest";
import { certificateStep, firstSpan, spanAfter } from "../../../runtime/domain/certificate-life.ts";

const DAY_MS = 86_400_000;
const MADE = new Date("2030-01-01T00:00:00Z");
const daysLater = (days: number) => new Date(MADE.getTime() + days * DAY_MS);
const current = firstSpan(MADE);
const next = spanAfter(current);

describe("the life of a certificate that a node makes", () => {
  it.each([
    ["at once", 0, "keep"],
    ["shortly before its half", 399, "keep"],
    ["after its half", 401, "next"],
    ["after its end", 900, "next"],
    ["after the end of the next one, too", 1_300, "anew"],
    ["by a clock that is behind", -3_650, "keep"],
  ])("%s", (_when, days, step) => {
    expect(certificateStep({ current, next, fits: true }, daysLater(days))).toBe(step);
  });

  it("ends where the node has got another name", () => {
    expect(certificateStep({ current, next, fits: false }, MADE)).toBe("anew");
  });

  it("leaves a node at least four hundred days without a restart, and no certificate is valid for more than 825", () => {
    let shown = { current, next };
    for (let day = 0; day <= 5_000; day += 7) {
      const now = daysLater(day);
      const step = certificateStep({ ...shown, fits: true }, now);
      expect(step).not.toBe("anew");
      if (step === "next") shown = { current: shown.next, next: spanAfter(shown.next) };
      expect(shown.current.notBefore <= now).toBe(true);
      expect((shown.current.notAfter.getTime() - day * DAY_MS - MADE.getTime()) / DAY_MS).toBeGreaterThan(393);
      for (const { notBefore, notAfter } of [shown.current, shown.next]) {
        expect((notAfter.getTime() - notBefore.getTime()) / DAY_MS).toBeLessThanOrEqual(825);
      }
    }
  });
});
