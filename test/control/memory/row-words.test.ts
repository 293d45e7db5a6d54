import { expect, it } from "vitest";
import { rowsOf } from "../../../control/memory/row-words.ts";

it("rows are told in words, tables of the machinery together, and nothing of which there is none", () => {
  const counts = {
    conversations: 2,
    messages: 7,
    attachments: 0,
    inbox: 1,
    turn_steers: 2,
    leases: 3,
    forgotten_keys: 0,
  };
  expect(rowsOf(counts)).toEqual([
    ["messages", "7"],
    ["conversations", "2"],
    ["turns and queues", "3"],
    ["bookkeeping", "3"],
  ]);
  expect(rowsOf({ messages: 0, summaries: 0 })).toEqual([["messages", "0"]]);
});
