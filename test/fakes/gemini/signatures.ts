/** Thought signatures as the fake writes them: of the model and the call, so that a changed or a foreign one is seen. */

/** Accepted in place of a signature. */
export const NO_SIGNATURE = "skip_thought_signature_validator";
const MARK = "gemini-fake";

export function signatureOf(model: string, call: string): string {
  return Buffer.from(JSON.stringify([MARK, model, call])).toString("base64");
}

/** What is wrong with a signature that came back with a call. */
export function signatureProblem(signature: string, model: string, call: string): string | undefined {
  if (signature === NO_SIGNATURE || signature === signatureOf(model, call)) return undefined;
  if (!/^[\w+/-]+=*$/.test(signature)) return "Corrupted thought signature.";
  return "Invalid thought signature.";
}

export function modelOf(path: string): string {
  return decodeURIComponent(/\/models\/([^/:?]+):/.exec(path)?.[1] ?? "");
}

/** Models since the third generation insist on signatures. */
export function insists(model: string): boolean {
  return Number(/^gemini-(\d+)/.exec(model)?.[1] ?? 3) >= 3;
}
