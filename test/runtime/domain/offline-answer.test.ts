import { expect, it } from "vitest";
import { isOfflineAnswer, NO_MODEL } from "../../../runtime/domain/offline-answer.ts";

it("knows an answer that was given without a model, and no user who quotes it", () => {
  const content = `Here is what I remember:\n- miso\n\n${NO_MODEL} To give me one, ...`;
  expect(isOfflineAnswer({ role: "assistant", content })).toBe(true);
  expect(isOfflineAnswer({ role: "user", content })).toBe(false);
  expect(isOfflineAnswer({ role: "assistant", content: "Miso is made of soy." })).toBe(false);
});
