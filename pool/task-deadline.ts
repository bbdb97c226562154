import inspector from 'node:inspector';

/** Milliseconds in which a handler that was told of its deadline may still end by itself. */
const graceMs = 250;

/** The deadline of the tasks that a thread runs one after another. */
export interface TaskDeadline {
  /** A task begins that may take so many milliseconds. */
  begin(ms: number): void;
  /** It has ended. */
  end(): void;
  close(): void;
}

export interface TaskDeadlineOptions {
  /** The time is up: tells the task, and says whether it may take its grace; false where none runs. */
  onTime: () => boolean;
  /** The task has not ended by itself. */
  onOver: () => void;
  isDebugged?: (() => boolean) | undefined;
}

/** Whether a debugger may be attached to this process: whoever steps through a handler is not to lose it. */
export function isInspected(): boolean {
  return inspector.url() !== undefined;
}

/**
 * One timer, begun anew by each task of the same length: to make one costs as much as a stage. Where it goes off between two
 * tasks, nobody minds.
 */
export function createTaskDeadline({
  onTime,
  onOver,
  isDebugged = isInspected,
}: TaskDeadlineOptions): TaskDeadline {
  let timer: NodeJS.Timeout | undefined;
  let length = 0;
  let grace: NodeJS.Timeout | undefined;

  function expire(): void {
    if (isDebugged()) return;
    if (onTime()) grace = setTimeout(onOver, graceMs).unref();
  }

  function endGrace(): void {
    if (grace) clearTimeout(grace);
    grace = undefined;
  }

  return {
    begin(ms) {
      if (timer && ms === length) {
        timer.refresh();
        return;
      }
      clearTimeout(timer);
      length = ms;
      // The port to the worker keeps the process alive while a task runs.
      timer = setTimeout(expire, ms).unref();
    },
    end: endGrace,
    close() {
      clearTimeout(timer);
      endGrace();
    },
  };
}
