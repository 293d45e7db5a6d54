/**
 * Packages that the build puts into `dist`, cut down to what is used of them, by the room that imports them. They are development
 * dependencies, so that an installation does not bring them along whole (docs/decisions/062-bundled-packages.md).
 */
// @ts-check

/** @type {Readonly<Record<"runtime" | "infra", readonly string[]>>} */
export const BUNDLED = {
  runtime: ["@anthropic-ai/sdk", "@google/genai", "gpt-tokenizer", "ollama", "openai"],
  infra: ["@pulumi/command", "@pulumi/docker", "@pulumi/kubernetes", "@pulumi/pulumi"],
};
