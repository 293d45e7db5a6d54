/** A thread for one search: it blocks while it reads, and a regular expression that takes forever blocks it alone. */

import { parentPort, workerData } from "node:worker_threads";
import type { SearchShare, SearchTask } from "./messages.ts";
import { search } from "./search.ts";

// The thread's owner made it with this.
const { task, share } = workerData as { readonly task: SearchTask; readonly share: SearchShare };
parentPort?.postMessage(search(task, share, () => performance.now()));
