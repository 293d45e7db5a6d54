import { describe, expect, it } from "vitest";
import { continuationMessages } from "../../../runtime/domain/continuation.ts";

describe("what the next model is shown of a reply that broke off", () => {
  it("is the text as the assistant's, and a last message of the user, which every API takes", () => {
    const [half, ask, ...rest] = continuationMessages("Once upon ");
    expect(half).toEqual({ role: "assistant", content: "Once upon " });
    expect(ask).toMatchObject({ role: "user", aside: true, content: expect.stringContaining("Continue from there") });
    expect(rest).toEqual([]);
  });

  it("is nothing where it had only said white space", () => {
    expect(continuationMessages(" \n")).toEqual([]);
  });
});
