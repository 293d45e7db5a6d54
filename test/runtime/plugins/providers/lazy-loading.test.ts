import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";

/** The SDKs are heavy: a process that has a provider but does not call it must not carry one. */
it("loads no SDK before the first call", async () => {
  const entry = (kind: string): string =>
    new URL(`../../../../runtime/plugins/providers/${kind}/index.ts`, import.meta.url).href;
  const script = `
    import { createAnthropicProvider } from ${JSON.stringify(entry("anthropic"))};
    import { createOpenaiCompatibleProvider } from ${JSON.stringify(entry("openai-compatible"))};
    import { createGeminiProvider } from ${JSON.stringify(entry("gemini"))};
    import { createOllamaProvider } from ${JSON.stringify(entry("ollama"))};
    import { createXaiProvider } from ${JSON.stringify(entry("xai"))};
    import { createOfflineProvider } from ${JSON.stringify(entry("offline"))};
    const settings = { id: "p", model: "m", apiKey: "k", logger: {} };
    await createAnthropicProvider(settings).isAvailable();
    await createOpenaiCompatibleProvider(settings).isAvailable();
    await createGeminiProvider(settings).isAvailable();
    await createOllamaProvider(settings).isAvailable();
    await createXaiProvider(settings).isAvailable();
    await createOfflineProvider({ id: "o", memory: {} }).isAvailable();
    console.log(JSON.stringify(globalThis.loadedModules));
  `;
  const hooks = `
    globalThis.loadedModules = [];
    const { registerHooks } = await import("node:module");
    registerHooks({ load(url, context, next) { globalThis.loadedModules.push(url); return next(url, context); } });
  `;
  const { stdout } = await promisify(execFile)(process.execPath, [
    "--import",
    `data:text/javascript,${encodeURIComponent(hooks)}`,
    "--input-type=module",
    "--eval",
    script,
  ]);
  const modules: string[] = JSON.parse(stdout);
  expect(modules.some((url) => url.includes("/providers/anthropic/provider.ts"))).toBe(true);
  expect(modules.filter((url) => /node_modules\/(openai|ollama|@anthropic-ai|@google)\//.test(url))).toEqual([]);
});
