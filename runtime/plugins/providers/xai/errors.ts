import type { Failure } from "../../shared/model-http/failure.ts";

/** xAI refuses a wrong key with 400, as a bad argument. */
export function readRefusal(failure: Failure): Failure {
  const wrongKey =
    failure.kind === "status" && failure.status === 400 && /incorrect api key/i.test(failure.message ?? "");
  return wrongKey ? { ...failure, status: 401 } : failure;
}
