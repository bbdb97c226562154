/** Keeps a core busy whenever it is told to, yielding to others or not: for pool.ts. */
import { workerData } from 'node:worker_threads';
import { lowerPriority } from '../../pool/thread-settings.js';

const { gate, yields } = workerData as { gate: Int32Array; yields: boolean };
if (yields) lowerPriority();

for (;;) {
  Atomics.wait(gate, 0, 0);
  while (Atomics.load(gate, 0) === 1) {
    JSON.parse(JSON.stringify(Array.from({ length: 1000 }, (_, index) => index)));
    Atomics.add(gate, 1, 1);
  }
}
