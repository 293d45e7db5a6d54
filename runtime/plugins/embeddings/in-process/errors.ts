import { ProviderError } from "../../../contracts/errors.ts";
import { isMissing, LIBRARY } from "./library.ts";

/** What goes wrong before a model in this process can be used. */
export function loadError(model: string, error: unknown): ProviderError {
  if (isMissing(error)) {
    return new ProviderError(
      "PROVIDER_REJECTED_REQUEST",
      `The embedding model "${model}" needs ${LIBRARY}, which is not installed.`,
      { hint: `Install it beside Cairn: npm install --global ${LIBRARY}; or use a model server.` },
    );
  }
  const reason = error instanceof Error ? error.message : String(error);
  return new ProviderError("PROVIDER_UNREACHABLE", `The embedding model "${model}" cannot be loaded: ${reason}`, {
    cause: error,
    hint: "Set memory.embedding.model to a directory with an ONNX model, or to a name that can be downloaded.",
  });
}
