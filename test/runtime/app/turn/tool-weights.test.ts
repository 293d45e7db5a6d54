import { expect, it } from "vitest";
import { createToolWeights } from "../../../../runtime/app/turn/tool-weights.ts";
import type { ToolDefinition } from "../../../../runtime/contracts/provider.ts";

const tool = (name: string): ToolDefinition => ({ name, description: "ö".repeat(100), parameters: { type: "object" } });

it("weighs the definitions as they are sent, each once, and only those that are needed", () => {
  const counted: string[] = [];
  const weigh = createToolWeights((text) => {
    counted.push(text);
    return text.length;
  });
  const [read, write] = [tool("read"), tool("write")];
  const both = weigh([read, write]);
  const bytes = Buffer.byteLength(JSON.stringify([read, write]));
  expect(both.bytes).toBeGreaterThanOrEqual(bytes);
  expect(both.bytes).toBeLessThan(bytes + 40);
  // Where the bytes fit, no token need be counted.
  expect(counted).toEqual([]);
  expect(both.tokens()).toBeGreaterThan(weigh([read]).tokens());
  expect(weigh([write, read]).tokens()).toBe(both.tokens());
  expect(counted).toEqual([JSON.stringify(read), JSON.stringify(write)]);
  // A tool that has changed is another one.
  weigh([{ ...read, description: "reads" }]).tokens();
  expect(counted).toHaveLength(3);
});
