/**
 * Preloaded into a gateway under attack: collects garbage at SIGUSR2. A heap that has grown keeps its pages until there is reason
 * to look through it; what is judged is what is still held, not what V8 has not given back yet.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { isMainThread } from 'node:worker_threads';

if (isMainThread) {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  process.on('SIGUSR2', async () => {
    // What is held by finalizers and weak tables alone goes only with a later one.
    for (let times = 0; times < 4; times += 1) {
      collect();
      await sleep(20);
    }
  });
}
