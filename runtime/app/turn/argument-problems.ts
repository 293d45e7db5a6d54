/** What is wrong with the arguments of a call, in words from which a model can mend it. */

import type { ErrorObject } from "ajv";

const MAX_PROBLEMS = 10;

/** A sentence with the first problems; the names and values that ajv leaves out of its messages are in it. */
export function argumentProblems(errors: readonly ErrorObject[]): string {
  return `${errors.slice(0, MAX_PROBLEMS).map(problemOf).join("; ")}.`;
}

function problemOf({ instancePath, keyword, params, message = "is not valid" }: ErrorObject): string {
  const where = `arguments${instancePath}`;
  switch (keyword) {
    case "additionalProperties":
      return `${where} must NOT have the property '${params["additionalProperty"]}'`;
    case "enum":
      return `${where} must be one of ${JSON.stringify(params["allowedValues"])}`;
    case "const":
      return `${where} must be ${JSON.stringify(params["allowedValue"])}`;
    default:
      return `${where} ${message}`;
  }
}
