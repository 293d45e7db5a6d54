/** What is wrong with the arguments of a call, in words from which a model can mend it. */

import type { ErrorObject } from "ajv";

const MAX_PROBLEMS = 10;
/** UTF-16 units of a name, and of a list of values. */
const MAX_CHARS = 300;

/** A sentence with the first problems; the names and values that ajv leaves out of its messages are in it. */
export function argumentProblems(errors: readonly ErrorObject[]): string {
  const more = errors.length - MAX_PROBLEMS;
  const problems = errors.slice(0, MAX_PROBLEMS).map(problemOf).join("; ");
  return `${problems}${more > 0 ? `; and ${more} more` : ""}.`;
}

function problemOf({ instancePath, keyword, params, message = "is not valid" }: ErrorObject): string {
  const where = `arguments${bounded(instancePath)}`;
  switch (keyword) {
    case "required":
      return `${where} must have required property '${bounded(params["missingProperty"])}'`;
    case "additionalProperties":
      return `${where} must NOT have the property '${bounded(params["additionalProperty"])}'`;
    case "propertyNames":
      return `${where} must NOT have the property '${bounded(params["propertyName"])}'`;
    case "enum":
      return `${where} must be one of ${bounded(JSON.stringify(params["allowedValues"]))}`;
    case "const":
      return `${where} must be ${bounded(JSON.stringify(params["allowedValue"]))}`;
    default:
      return `${where} ${bounded(message)}`;
  }
}

function bounded(value: unknown): string {
  const text = String(value);
  return text.length <= MAX_CHARS ? text : `${text.slice(0, MAX_CHARS)}...`;
}
