import { checkSize } from '../../local/given-input.js';
import type { Stage } from '../../pipeline/stage.js';
import type { ToolCall } from './http-tools.js';

/** Holds a tool's input to the bounds of a body: the message around it may be larger, what is asked of a helper may not. */
export function requireSize(limits: Parameters<typeof checkSize>[1]): Stage<ToolCall, object> {
  return function requireSize(call, next) {
    checkSize({ body: call.text }, limits);
    return next({});
  };
}
