/** What keeps commands away from a model server that the user of this machine has at its usual port. */

/** Nothing answers there. A command that looks for model servers of its machine has this in its environment. */
export const NO_MODEL_SERVER = { OLLAMA_HOST: "127.0.0.1:1" } as const;
