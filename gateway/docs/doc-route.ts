import type { CallMiddleware } from '../pipeline/state.js';

/** A path of the API's port that is no helper's: a page, a document or what belongs to one. */
export interface DocRoute {
  /** The whole path, without parameters. */
  path: string;
  methods: readonly ('GET' | 'POST')[];
  /** Answers by Koa's `ctx`; what it throws becomes the envelope of an error. */
  handle: CallMiddleware;
}
