import type { Meters } from './meters.js';
import { secondsOfACall } from './meters.js';

/** One answered call, as the metrics see it: no tenant and no key, whose number has no bound. */
export interface ObservedCall {
  /** The helper's id, or null for any other path. */
  service: string | null;
  /** The error's code, or `ok`. */
  code: string;
  seconds: number;
  /** Milliseconds spent on the call's tasks; 0 for a helper that runs inline. */
  taskMs: number;
}

/** A helper's calls since the counters were last read: the library takes longer to find a counter than to add to it. */
interface Counted {
  label: { service: string };
  codes: Map<string, number>;
  taskMs: number;
}

export interface CallMeters {
  observe(call: ObservedCall): void;
  /** Adds to the time spent on tasks what was spent on no call, such as an item of a job. */
  addTaskMs(service: string, ms: number): void;
}

/** Counts the calls of helpers, and what they took. */
export function meterCalls({ counter, histogram }: Meters): CallMeters {
  const counted = new Map<string, Counted>();
  counter(
    {
      name: 'calls_total',
      help: 'Answered calls, by helper and error code (ok where it succeeded).',
      labels: ['service', 'code'],
    },
    (calls) => {
      for (const { label, codes } of counted.values()) {
        for (const [code, number] of codes) calls.inc({ ...label, code }, number);
        codes.clear();
      }
    },
  );
  const seconds = histogram(
    {
      name: 'call_seconds',
      help: 'Time from the request line to the answer, by helper.',
      labels: ['service'],
    },
    secondsOfACall,
  );
  counter(
    {
      name: 'task_seconds_total',
      help: 'Time spent on tasks, by helper: in worker threads, and on the main thread by short calls.',
      labels: ['service'],
    },
    (spent) => {
      for (const each of counted.values()) {
        if (each.taskMs > 0) spent.inc(each.label, each.taskMs / 1000);
        each.taskMs = 0;
      }
    },
  );

  function countedOf(service: string): Counted {
    let each = counted.get(service);
    if (!each) {
      each = { label: { service }, codes: new Map(), taskMs: 0 };
      counted.set(service, each);
    }
    return each;
  }

  return {
    observe({ service, code, seconds: spent, taskMs }) {
      const each = countedOf(service ?? 'none');
      each.codes.set(code, (each.codes.get(code) ?? 0) + 1);
      each.taskMs += taskMs;
      seconds.observe(each.label, spent);
    },
    addTaskMs(service, ms) {
      countedOf(service).taskMs += ms;
    },
  };
}
