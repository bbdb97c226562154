import type { RouterContext } from '@koa/router';
import type { Middleware } from 'koa';
import type { Tenant } from '../keys/model.js';
import type { Rights } from './auth/people.js';
import type { Session } from './auth/sign-in.js';

/** Who a request is from. */
export type Visitor = (Session & Rights) | undefined;

/** What the stages of one request hand on. */
export interface SiteState {
  /** observe */
  requestId: string;
  /** observe: the route's pattern, for the log. A path may hold an invitation's token. */
  route?: string;
  /** whether answers are pages or JSON */
  answers: 'pages' | 'json';
  /** visitor */
  visitor: Visitor;
  /** form-guard: what a form on this page has to carry. */
  formToken: string;
  /** access: the tenant in the path. */
  tenant?: Tenant;
  /** form-guard: the fields of a form. */
  form?: Map<string, string>;
  /** respond: the error's code, and what only the log may know. */
  code?: string;
  fault?: unknown;
}

export type SiteContext = RouterContext<SiteState>;
export type SiteStage = Middleware<SiteState, SiteContext>;
