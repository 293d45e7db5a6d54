/** The part of @huggingface/transformers that is used. It is not installed with Cairn: it brings 400 MB of binaries. */

export interface Extractor {
  (texts: readonly string[], options: { pooling: "mean"; normalize: boolean }): Promise<{ tolist(): unknown }>;
  dispose(): Promise<unknown>;
}

export interface Library {
  readonly env: { cacheDir: string | null; localModelPath: string };
  pipeline(
    task: "feature-extraction",
    model: string,
    options: { readonly local_files_only: boolean; readonly dtype: "fp32" | "q8" },
  ): Promise<Extractor>;
}

export type LoadLibrary = () => Promise<Library>;

export const LIBRARY = "@huggingface/transformers";

export const loadLibrary: LoadLibrary = async () => {
  // By its address, so that nothing loads it before it is wanted, and Node itself reports where it is not installed.
  const found: unknown = await import(import.meta.resolve(LIBRARY));
  // The package's own types are as absent as the package; what is used of it is declared above.
  return found as Library;
};

/** Whether the library is not installed, as opposed to broken. */
export function isMissing(error: unknown): boolean {
  const code: unknown = Reflect.get(Object(error), "code");
  return code === "ERR_MODULE_NOT_FOUND" && String(error).includes(LIBRARY);
}
