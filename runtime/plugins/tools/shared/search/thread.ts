/** A thread for one search: it blocks while it reads, and a regular expression that takes forever blocks it alone. */

import { parentPort, workerData } from "node:worker_threads";
import type { SearchTask } from "./messages.ts";
import { search } from "./search.ts";

// The thread's owner made it with a task.
parentPort?.postMessage(search(workerData as SearchTask, () => performance.now()));
